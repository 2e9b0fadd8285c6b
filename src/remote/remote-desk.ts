/**
 * Where workers of the users' own are attended to. Everything it answers follows from the tables: any node can
 * answer any request, and a repetition of a request changes nothing. A worker may change only runs that stand in
 * its name, and only by the fence by which it holds them.
 */

import { LRUCache } from 'lru-cache'
import { type Action, isLarge } from '../core/action/action.ts'
import { invalidInput, Refusal } from '../core/errors.ts'
import { uuidv7 } from '../core/ids.ts'
import type { ClaimedRun } from '../core/run/claim.ts'
import { laneOf } from '../core/run/lane.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { withCommands } from '../core/run/own-labels.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { durationMs } from '../core/task/task.ts'
import type { LogWriter } from '../logs/log-writer.ts'
import { cancelledEnding, lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import { judge, type Verdict } from '../outcomes/verdict.ts'
import type { ProjectNetworks } from '../outgoing/project-networks.ts'
import type { Signer } from '../outgoing/signer.ts'
import { type HoldingClock, holdMs } from '../runtime/clock.ts'
import type { Service } from '../runtime/service.ts'
import type { AddressSigner } from '../secrets/address-signer.ts'
import type { Vault } from '../secrets/vault.ts'
import { countWithin } from '../store/database/by-bytes.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { beatNaming } from '../store/nodes/named-runs.ts'
import { beat, declareDead, handBackRuns, reclaimRuns } from '../store/nodes/nodes.ts'
import {
  changeOffer,
  findRemoteWorker,
  givenAt,
  type HeldWork,
  insertRemoteWorker,
  latestClaim,
  lockClaims,
  saveProgress,
  storedAmong,
  workHeldBy,
} from '../store/nodes/remote-workers.ts'
import { countRunning, limitedGates } from '../store/queues/gates.ts'
import { countRunningOfProjects } from '../store/queues/project-gates.ts'
import { LARGE_BYTES } from '../store/tasks/stored-definition.ts'
import type { Logger } from '../telemetry/logger.ts'
import { traceparentFor } from '../telemetry/traceparent.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { LaneRegistry } from '../transport/lane-registry.ts'
import type {
  GivenAction,
  Introduction,
  Receipt,
  RemoteClaim,
  RemoteHeld,
  RemoteLog,
  RemoteReport,
  RemoteRun,
  RemoteStatus,
  RemoteWorker,
  RemoteWorkers,
  Standings,
  Welcome,
} from '../transport/remote-workers.ts'
import type { Taking, Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { gone } from './claim-book.ts'
import { GivenActions } from './given-actions.ts'
import { Naming } from './naming.ts'
import { RegistrationRate } from './registration-rate.ts'
import { RemoteEntries } from './remote-lines.ts'
import { RemoteSecrets, redactedReport } from './remote-secrets.ts'
import { agrees, isOfHandler, outcomeOf } from './report.ts'
import { hashOf, isHashOf, newToken, workerOf } from './token.ts'
import { WaitingClaims } from './waiting-claims.ts'

export interface RemoteDeskOptions {
  readonly db: Database
  readonly transportOn: (db: Queryable) => Taking
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly lanes: LaneRegistry
  readonly clock: HoldingClock
  readonly log: Logger
  readonly claimEveryMs: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly vault: Vault
  readonly addresses: AddressSigner
  readonly signer: Signer
  readonly projectNetworks: ProjectNetworks
  readonly maxLogBytes: number
  /** Where lines of attempts are stored. */
  readonly logs: Pick<LogWriter, 'store' | 'isCrowded'>
}

const MAX_WORKERS_KNOWN = 10_000
/** Workers of the users' own that may live at once; each of them beats. */
const MAX_LIVING_WORKERS = 10_000
const MS_PER_SECOND = 1_000
/** The longest that a handler can put off its next attempt: until then the run keeps its place, and others wait for it. */
const MAX_RETRY_WAIT_MS = 30 * 86_400_000
/** Definitions whose payloads are in one answer: what goes beyond is handed back, and claimed next time. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** For how long what is known about limits of queues is good enough. */
const LIMITS_STALE_MS = 1_000
/** Reports wait no longer than this for the database; whoever sent them asks again. */
const LONGEST_WRITE_MS = 10_000

export class RemoteDesk implements RemoteWorkers, Service {
  readonly #options: RemoteDeskOptions
  readonly #claims: WaitingClaims
  readonly #writer: OutcomeWriter
  /** Workers by the hash of their token. Only the commands that one offers can change; they are read with each claim. */
  readonly #known = new LRUCache<string, RemoteWorker>({ max: MAX_WORKERS_KNOWN })
  /** Runs about which an outcome is to be written: a report that is repeated meanwhile adds no second one. */
  readonly #beingWritten = new Set<string>()
  readonly #rate = new RegistrationRate()
  readonly #naming: Naming
  readonly #secrets: RemoteSecrets
  readonly #entries = new RemoteEntries()
  readonly #actions: GivenActions
  #limits = { readAt: Number.NEGATIVE_INFINITY, exist: false }

  constructor(options: RemoteDeskOptions) {
    this.#options = options
    const { db, transportOn, wakeUps, clock, log, claimEveryMs: everyMs } = options
    this.#secrets = new RemoteSecrets(options.vault)
    this.#actions = new GivenActions(options)
    const labelsOf = (worker: RemoteWorker) => this.#secrets.labelsOf(worker)
    this.#claims = new WaitingClaims({ db, transportOn, wakeUps, log, everyMs, labelsOf })
    this.#naming = new Naming(options)
    this.#writer = new OutcomeWriter({ db, wakeUps, clock, log })
  }

  start(): void {
    this.#writer.start()
    this.#claims.start()
  }

  async stop(): Promise<void> {
    await this.#claims.stop()
    await this.#writer.stop()
  }

  dismissAll(): void {
    this.#claims.dismissAll()
  }

  async register({ version, concurrency, address, ...offer }: Introduction): Promise<Welcome> {
    const { db, heartbeatMs, leaseMs, maxLogBytes } = this.#options
    const waitSeconds = this.#rate.take(address)
    if (waitSeconds !== undefined)
      throw tooMany(`Too many worker registrations from ${address}.`, waitSeconds)
    const id = uuidv7()
    const token = newToken(id)
    const worker = { id, ...offer, tokenHash: hashOf(token) }
    const made = await db.run(insertRemoteWorker({ version, concurrency }, worker, MAX_LIVING_WORKERS))
    if (made.length === 0)
      throw tooMany(
        `The limit of ${MAX_LIVING_WORKERS} live workers is reached.`,
        Math.ceil(leaseMs / MS_PER_SECOND),
      )
    return { workerId: id, token, heartbeatMs, leaseMs, maxLogBytes }
  }

  async authenticate(token: string | null): Promise<RemoteWorker> {
    const id = token === null ? undefined : workerOf(token)
    if (token === null || id === undefined) throw unknownToken()
    const key = hashOf(token).toString('base64')
    const known = this.#known.get(key)
    if (known) return known
    const [row] = await this.#options.db.run(findRemoteWorker(id))
    if (!row || !isHashOf(token, row.tokenHash)) throw unknownToken()
    const { tokenHash: _, ...worker } = row
    this.#known.set(key, worker)
    return worker
  }

  async find(id: string): Promise<RemoteWorker> {
    const [row] = await this.#options.db.run(findRemoteWorker(id))
    if (!row) throw unknownToken()
    const { tokenHash: _, ...worker } = row
    return worker
  }

  async claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly RemoteRun[]> {
    const claimed = await this.#claims.claim(worker, claim, signal)
    if (claimed.length === 0) return []
    const works = await this.#worksOf(claimed)
    const wanted = works.filter(({ isCancelled }) => !isCancelled)
    for (const work of works) if (work.isCancelled) this.#endCancelled(work)
    if (wanted.length < works.length) await this.#untilWritten(works.map(({ runId }) => runId))
    const given = await this.#withinBounds(wanted)
    const whole = await this.#wholeOf(worker, given)
    await this.#untilDue(given)
    return whole
  }

  async heartbeat(worker: RemoteWorker, runs: readonly RemoteStatus[] | null): Promise<Standings> {
    const { db, leaseMs } = this.#options
    const beating = runs === null ? beat(worker.id) : beatNaming({ workerId: worker.id, leaseMs })
    if ((await db.run<unknown>(beating)).length === 0) throw gone(worker)
    if (runs === null || runs.length === 0) return { cancelled: [], lost: [] }
    const held = await this.#heldOf(worker, runs)
    const inHand = runs.filter((run) => held.has(run))
    await this.#naming.hear([...held.values()])
    const told = inHand.filter(({ progress }) => progress)
    if (told.length > 0) await db.run(saveProgress(await this.#progressOf(told, held)))
    if (inHand.length > 0 && (await this.#areQueuesLimited())) {
      const counted = { workerId: worker.id, runIds: inHand.map(({ runId }) => runId) }
      await db.run(countRunning(counted))
      await db.run(countRunningOfProjects(counted))
    }
    return {
      cancelled: inHand.filter((run) => held.get(run)?.isCancelled).map(({ runId }) => runId),
      lost: runs.filter((run) => !held.has(run)).map(({ runId }) => runId),
    }
  }

  async offer(worker: RemoteWorker, commands: readonly string[]): Promise<void> {
    const labels = withCommands(worker.labels, commands)
    if (labels === null)
      throw invalidInput([
        { pointer: '/commands', detail: 'can be given only by a worker with the action exec' },
      ])
    if ((await this.#options.db.run(changeOffer(worker.id, labels))).length === 0) throw gone(worker)
  }

  async log(worker: RemoteWorker, logs: readonly RemoteLog[]): Promise<readonly string[]> {
    const held = await this.#heldOf(worker, logs)
    if (held.size < logs.length) await this.#requireLiving(worker)
    const ours = logs.flatMap((log) => {
      const row = held.get(log)
      return row ? { log, row } : []
    })
    const rows = ours.map(({ row }) => row)
    const works = (await this.#secrets.areInUse()) ? await this.#worksOf(rows) : []
    const kept = await this.#store(
      ours.map(({ log }) => log),
      { redactors: await this.#secrets.redactorsFor(works), isLast: false },
    )
    return logs.flatMap((log) => (held.has(log) && kept.has(log.runId) ? [] : log.runId))
  }

  async complete(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<readonly Receipt[]> {
    const { db } = this.#options
    if (this.#writer.isFull) throw busy()
    const held = await this.#heldOf(worker, reports)
    if (held.size < reports.length) await this.#requireLiving(worker)
    const ours = reports.flatMap((report) => {
      const row = held.get(report)
      return row ? { report, row } : []
    })
    const works = await this.#worksOf(ours.map(({ row }) => row))
    const byRun = new Map(works.map((work) => [work.runId, work]))
    const redactors = await this.#secrets.redactorsFor(works)
    // Whoever finds a run ended finds its log complete.
    const logs = ours.map(({ report }) => ({ ...report, first: report.logFirst, lines: report.log }))
    await this.#store(
      logs.filter(({ lines }) => lines.length > 0),
      { redactors, isLast: true },
    )
    const lost: (HeldWork & Work)[] = []
    const written = new Set<RemoteReport>()
    for (const { report, row } of ours) {
      const work = byRun.get(row.runId)
      if (!work || this.#beingWritten.has(row.runId) || this.#writer.keeps(row.runId)) continue
      written.add(report)
      if (report.outcome === 'lost') lost.push(work)
      else
        this.#write(row.runId, this.#verdictOn(redactedReport(report, redactors.get(row.runId)), work, row))
    }
    await this.#takeBack(lost)
    const { dropped } = this.#writer
    await this.#untilWritten([...byRun.keys()])
    // Another report about the same run came first, or somebody's outcome was dropped meanwhile: what counted, the tables tell.
    const isCertain = (report: RemoteReport) =>
      written.has(report) && (this.#writer.dropped === dropped || report.outcome === 'lost')
    const others = reports.filter((report) => !isCertain(report))
    const stored = others.length > 0 ? await db.run(storedAmong({ workerId: worker.id, held: others })) : []
    const isPending = (report: RemoteReport) => held.has(report) && this.#writer.keeps(report.runId)
    const isRecorded = (report: RemoteReport) =>
      isCertain(report) || stored.filter(isSameAs(report)).some((attempt) => agrees(report, attempt))
    return reports.map((report) => ({
      runId: report.runId,
      fence: report.fence,
      isRecorded: !isPending(report) && isRecorded(report),
      isPending: isPending(report),
    }))
  }

  async giveBack(worker: RemoteWorker, runs: readonly RemoteHeld[]): Promise<void> {
    const { db, wakeUps } = this.#options
    const held = await this.#heldOf(worker, runs)
    if (held.size < runs.length) await this.#requireLiving(worker)
    const mine = runs.filter((run) => held.has(run))
    if (mine.length === 0) return
    await db.run(handBackRuns(mine))
    wakeUps.announceReady()
  }

  /**
   * The lock keeps claims in its name out until it is dead, and then none can succeed. A claim whose answer it never heard
   * may have been made shortly before: those runs were not begun, so they go back as they came.
   */
  async leave(worker: RemoteWorker): Promise<void> {
    const { db, wakeUps } = this.#options
    const { id: workerId } = worker
    await db.transaction(async (tx) => {
      const [latest] = await tx.run(lockClaims(workerId))
      const runIds = latest?.runIds ?? []
      const unheard = runIds.length > 0 ? await tx.run(workHeldBy({ workerId, runIds })) : []
      if (unheard.length > 0) await tx.run(handBackRuns(unheard))
      const dead = await tx.run(declareDead({ nodeId: workerId, beat: null, reason: 'stopped' }))
      if (dead.length === 0) throw gone(worker)
    })
    wakeUps.announceReady()
  }

  /** Stores lines of runs that the worker holds; answers the runs that it still held by then. */
  async #store(
    logs: readonly RemoteLog[],
    { redactors, isLast }: { redactors: ReadonlyMap<string, Redactor>; isLast: boolean },
  ): Promise<ReadonlySet<string>> {
    if (logs.length > 0 && this.#options.logs.isCrowded) throw busy()
    const stored = await Promise.all(
      logs.map(async (log) => {
        const { runId, fence, first } = log
        const entries = this.#entries.of(log, redactors.get(runId))
        return (await this.#options.logs.store({ runId, fence, first, entries, isLast })) ? runId : null
      }),
    )
    return new Set(stored.filter((runId) => runId !== null))
  }

  /** Refuses a worker that was declared dead or has left. */
  async #requireLiving(worker: RemoteWorker): Promise<void> {
    const [latest] = await this.#options.db.run(latestClaim(worker.id))
    if (!latest || latest.isDead) throw gone(worker)
  }

  /** What the worker holds of what it names, by the very object that names it. */
  async #heldOf<T extends RemoteHeld>(worker: RemoteWorker, runs: readonly T[]): Promise<Map<T, HeldWork>> {
    const runIds = runs.map(({ runId }) => runId)
    const rows = await this.#options.db.run(workHeldBy({ workerId: worker.id, runIds }))
    const byId = new Map(rows.map((row) => [row.runId, row]))
    return new Map(
      runs.flatMap((run): [T, HeldWork][] => {
        const row = byId.get(run.runId)
        return row?.fence === run.fence ? [[run, row]] : []
      }),
    )
  }

  async #worksOf<Run extends ClaimedRun>(runs: readonly Run[]): Promise<(Run & Work)[]> {
    const definitions = await this.#options.definitions.of(runs)
    return runs.flatMap((run, i) => {
      const definition = definitions[i]
      return definition ? [{ ...run, definition }] : []
    })
  }

  #verdictOn(report: RemoteReport, work: Work, held: HeldWork): Verdict {
    const startedAt = givenAt(held)
    const endedAt = Math.max(startedAt, this.#options.clock.now())
    const verdict = judge({ work, outcome: outcomeOf(report, work), startedAt, endedAt }, Math.random, uuidv7)
    const wishedMs = report.retryInMs ?? (report.retryAt === null ? null : report.retryAt - endedAt)
    if (verdict.kind !== 'retry' || wishedMs === null || !isOfHandler(work)) return verdict
    const waitMs = Math.min(Math.max(wishedMs, 0), MAX_RETRY_WAIT_MS)
    return { kind: 'retry', retry: { ...verdict.retry, retryAt: Math.ceil(endedAt + waitMs) } }
  }

  #endCancelled(work: Work): void {
    const ending = cancelledEnding(work, this.#options.clock.now())
    this.#write(work.runId, { kind: 'end', ending, isAwaited: true })
  }

  #write(runId: string, verdict: Verdict): void {
    this.#beingWritten.add(runId)
    this.#writer.add(verdict)
  }

  /** Attempts that the worker cannot vouch for: each is a loss, as if it had died. */
  async #takeBack(lost: readonly (HeldWork & Work)[]): Promise<void> {
    const { db, clock, wakeUps } = this.#options
    const again = lost.filter(mayBeginAgain)
    for (const work of lost)
      if (!mayBeginAgain(work))
        this.#write(work.runId, {
          kind: 'end',
          ending: lostEnding(work, { startedAt: givenAt(work), now: clock.now() }),
          isAwaited: true,
        })
    if (again.length === 0) return
    await db.run(reclaimRuns(again.map((work) => ({ ...work, startedAt: givenAt(work) }))))
    wakeUps.announceReady()
  }

  async #untilWritten(runIds: readonly string[]): Promise<void> {
    const written = this.#writer.written(new Set(runIds)).then(() => {
      for (const runId of runIds) this.#beingWritten.delete(runId)
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), LONGEST_WRITE_MS)
    })
    const ended = await Promise.race([written, late])
    clearTimeout(timer)
    if (ended === 'late') throw busy()
  }

  /** As many of the runs as fit into one answer; the others go back, for the next claim. */
  async #withinBounds(works: readonly Work[]): Promise<readonly Work[]> {
    const bytesOf = ({ definition: { action } }: Work) => (isLarge(action) ? action.largeBytes : LARGE_BYTES)
    const count = countWithin(works, MAX_ANSWER_BYTES, bytesOf)
    if (count === works.length) return works
    await this.#options.db.run(handBackRuns(works.slice(count)))
    this.#options.wakeUps.announceReady()
    return works.slice(0, count)
  }

  /** Runs as workers are given them; payloads that were too large to be kept are read now. */
  async #wholeOf(worker: RemoteWorker, works: readonly Work[]): Promise<RemoteRun[]> {
    const large = works.filter(({ definition }) => isLarge(definition.action))
    const read = large.length === 0 ? [] : await this.#options.definitions.whole(large)
    const actions = new Map(large.map(({ runId }, i) => [runId, read[i]?.action]))
    const given: RemoteRun[] = []
    for (const work of works) {
      const { action } = work.definition
      const whole = isLarge(action) ? actions.get(work.runId) : action
      if (!whole) continue
      if (whole.type === 'email') {
        await this.#leaveToNodes(work)
        continue
      }
      const run = await this.#present(worker, work, whole)
      if (run.failure) await this.#refuse(work, run.failure)
      else given.push(run)
    }
    return given
  }

  /** Email waits in lanes of its own where labels are asked for; what was put in line by an older build is moved there. */
  async #leaveToNodes(work: Work): Promise<void> {
    const { db, lanes, wakeUps } = this.#options
    const lane = laneOf(work.definition.projectId, work.definition)
    await lanes.ensure(db, [lane])
    await db.run(handBackRuns([{ ...work, movedTo: lane.id }]))
    wakeUps.announceReady()
  }

  /** A run as its worker is given it, or what its attempt comes to without that. */
  async #present(worker: RemoteWorker, work: Work, whole: Action) {
    const filled = await this.#secrets.fill(work, whole)
    if (filled.failure || filled.action.type === 'handler')
      return filled.failure ? filled : presentRun(work, filled.action, null)
    const given = await this.#actions.of(worker, work, filled.action)
    return 'failure' in given ? given : presentRun(work, filled.action, given)
  }

  /** A run that cannot be given away as things are goes back for another node to give; what nobody could perform ends. */
  async #refuse(work: Work, outcome: Outcome & { readonly kind: 'failed' }): Promise<void> {
    if (outcome.retryable) {
      await this.#options.db.run(handBackRuns([work]))
      this.#options.wakeUps.announceReady()
      return
    }
    const now = this.#options.clock.now()
    this.#write(work.runId, judge({ work, outcome, startedAt: now, endedAt: now }, Math.random, uuidv7))
    await this.#untilWritten([work.runId])
  }

  /** Progress as it is shown, without secrets. */
  async #progressOf(told: readonly RemoteStatus[], held: ReadonlyMap<RemoteStatus, HeldWork>) {
    const rows = told.flatMap((status) => held.get(status) ?? [])
    const works = (await this.#secrets.areInUse()) ? await this.#worksOf(rows) : []
    const redactors = await this.#secrets.redactorsFor(works)
    return told.flatMap(({ runId, fence, progress }) => {
      if (!progress) return []
      const { fraction, message } = progress
      return { runId, fence, fraction, message: message && (redactors.get(runId)?.text(message) ?? message) }
    })
  }

  /** Runs are fired a little ahead of their instant; nobody begins one before. */
  async #untilDue(works: readonly Work[]): Promise<void> {
    const dueAt = Math.max(...works.map(({ scheduledFor, wakeAt }) => Math.max(scheduledFor, wakeAt)))
    const { clock } = this.#options
    const waitMs = () => holdMs(clock, dueAt)
    if (waitMs() > 0) clock.expect(dueAt)
    for (let ms = waitMs(); ms > 0; ms = waitMs()) await new Promise((resolve) => setTimeout(resolve, ms))
  }

  /** Runs of a queue that has just got a limit may have been claimed by who had not noticed; they are counted. */
  async #areQueuesLimited(): Promise<boolean> {
    const now = performance.now()
    if (now - this.#limits.readAt < LIMITS_STALE_MS) return this.#limits.exist
    const limited = await this.#options.db.run(limitedGates())
    this.#limits = { readAt: now, exist: limited.length > 0 }
    return this.#limits.exist
  }
}

function presentRun(
  { definition, ...run }: Work,
  action: Action,
  given: GivenAction | null,
): RemoteRun & { readonly failure?: undefined } {
  const isHandler = action.type === 'handler'
  return {
    runId: run.runId,
    taskId: run.taskId,
    handler: isHandler ? action.name : '',
    payload: isHandler ? (action.payload ?? null) : null,
    scheduledFor: run.scheduledFor,
    attempt: run.attempt,
    fence: run.fence,
    timeoutMs: durationMs(definition.timeout),
    traceparent: traceparentFor(definition.traceparent, run.runId, run.attempt),
    tracingId: definition.tracingId,
    given,
  }
}

const isSameAs =
  ({ runId, fence }: RemoteHeld) =>
  (other: RemoteHeld) =>
    other.runId === runId && other.fence === fence

const unknownToken = () =>
  new Refusal(
    'unknown_token',
    'Send the token that POST /v1/worker/register returned, as Authorization: Bearer <token>.',
  )

const tooMany = (why: string, retryAfterSeconds: number) =>
  new Refusal('too_many_workers', `${why} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds })

const busy = () =>
  new Refusal(
    'unavailable',
    'The reports could not be stored in time. Send them again; a report never counts twice.',
  )

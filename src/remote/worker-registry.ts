/** Remote workers and their identity: registration, authentication by token, offered commands, and deregistration. */
import { invalidInput, Refusal } from '../core/errors.ts'
import { uuidv7 } from '../core/ids.ts'
import { withCommands } from '../core/run/own-labels.ts'
import { CallerMemory } from '../operations/access/caller-memory.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { handBackRuns } from '../store/nodes/leased-runs.ts'
import { declareDead } from '../store/nodes/nodes.ts'
import { runsLeasedTo } from '../store/nodes/remote-runs.ts'
import {
  changeOffer,
  findRemoteWorker,
  insertRemoteWorker,
  latestClaim,
  lockClaims,
  type RemoteWorkerRow,
} from '../store/nodes/remote-workers.ts'
import type { Introduction, RemoteWorker, Welcome } from '../transport/remote-workers.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { gone } from './claim-book.ts'
import { RegistrationRate } from './registration-rate.ts'
import { hashOf, isHashOf, newToken, workerOf } from './token.ts'

export interface WorkerRegistryOptions {
  readonly db: Database
  /** For finding out who sends a request. */
  readonly callersDb: Queryable
  readonly wakeUps: WakeUps
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly maxLogBytes: number
}

const MAX_WORKERS_KNOWN = 10_000
/** Maximum number of remote workers alive at once; each of them sends heartbeats. One project has half of them. */
const MAX_LIVING_WORKERS = { all: 10_000, ofProject: 5_000 }
const MS_PER_SECOND = 1_000

export class WorkerRegistry {
  readonly #options: WorkerRegistryOptions
  /** Workers by the hash of their token. Only the offered commands can change, and each claim rereads them. */
  readonly #known = new CallerMemory<RemoteWorker>({
    freshMs: Number.POSITIVE_INFINITY,
    max: MAX_WORKERS_KNOWN,
  })
  readonly #rate = new RegistrationRate()

  constructor(options: WorkerRegistryOptions) {
    this.#options = options
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
        `The limit of ${MAX_LIVING_WORKERS.ofProject} live workers of a project, or of ${MAX_LIVING_WORKERS.all} of all projects, is reached.`,
        Math.ceil(leaseMs / MS_PER_SECOND),
      )
    return { workerId: id, token, heartbeatMs, leaseMs, maxLogBytes }
  }

  async authenticate(token: string | null): Promise<RemoteWorker> {
    const id = token === null ? undefined : workerOf(token)
    if (token === null || id === undefined) throw unknownToken()
    const worker = await this.#known.get(hashOf(token).toString('base64'), async () => {
      const row = await this.#read(id)
      return row && isHashOf(token, row.tokenHash) ? workerFrom(row) : null
    })
    if (!worker) throw unknownToken()
    return worker
  }

  async find(id: string): Promise<RemoteWorker> {
    const row = await this.#read(id)
    if (!row) throw unknownToken()
    return workerFrom(row)
  }

  async #read(id: string): Promise<RemoteWorkerRow | undefined> {
    return (await this.#options.callersDb.run(findRemoteWorker(id)))[0]
  }

  async offer(worker: RemoteWorker, commands: readonly string[]): Promise<void> {
    const labels = withCommands(worker.labels, commands)
    if (labels === null)
      throw invalidInput([
        { pointer: '/commands', detail: 'can be given only by a worker with the action exec' },
      ])
    if ((await this.#options.db.run(changeOffer(worker.id, labels))).length === 0) throw gone(worker)
  }

  /** Rejects a worker that was declared dead or has deregistered. */
  async requireLiving(worker: RemoteWorker): Promise<void> {
    const [latest] = await this.#options.db.run(latestClaim(worker.id))
    if (!latest || latest.isDead) throw gone(worker)
  }

  /**
   * Deregisters a worker. The lock blocks claims of this worker until it is dead, after which none can succeed. A claim whose
   * response the worker never received may have been made shortly before: its runs were not started, so they are handed back
   * without a loss.
   */
  async leave(worker: RemoteWorker): Promise<void> {
    const { db, wakeUps } = this.#options
    const { id: workerId } = worker
    await db.transaction(async (tx) => {
      const [latest] = await tx.run(lockClaims(workerId))
      const runIds = latest?.runIds ?? []
      const unheard = runIds.length > 0 ? await tx.run(runsLeasedTo({ workerId, runIds })) : []
      if (unheard.length > 0) await tx.run(handBackRuns(unheard))
      const dead = await tx.run(declareDead({ nodeId: workerId, beat: null, reason: 'stopped' }))
      if (dead.length === 0) throw gone(worker)
    })
    wakeUps.announceReady()
  }
}

const workerFrom = ({ tokenHash: _, ...worker }: RemoteWorkerRow): RemoteWorker => worker

const unknownToken = () =>
  new Refusal(
    'unknown_token',
    'Send the token that POST /v1/worker/register returned, as Authorization: Bearer <token>.',
  )

const tooMany = (why: string, retryAfterSeconds: number) =>
  new Refusal('too_many_workers', `${why} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds })

/**
 * Delivers for one subscription for as long as its lease is held: a page of history after another, each event by a POST
 * of its own or some by one. Events of one task go one after another; those of different tasks side by side. What
 * was delivered is noted as far as everything before it was; so after a crash some is sent again, and none is left out.
 */
import { type EventPosition, formatPosition, frontierAt, parsePosition } from '../../core/frontier.ts'
import { type EndedRun, eventIdOf, eventOf, isWanted } from '../../core/run-event.ts'
import { parseTargetUrl } from '../../core/target-url.ts'
import { parseSecret, type SigningKey, signingKey, signMessage } from '../../core/webhook-signature.ts'
import type { Database } from '../../store/database.ts'
import type { HistoryTail } from '../../store/history-tail.ts'
import {
  type DeliverySettings,
  type LeasedSubscription,
  releaseSubscription,
  saveDelivered,
  saveFailed,
} from '../../store/subscriptions.ts'
import { type HttpClient, type HttpResult, type Target, targetOf } from '../executors/http-client.ts'
import { parseRetryAfter } from '../executors/retry-after.ts'

/** Tasks whose events are sent side by side. */
const LANES = 16
/** How often progress is noted within a page. */
const SAVE_EVERY_MS = 1_000
const FIRST_BACKOFF_MS = 1_000
const LONGEST_BACKOFF_MS = 300_000

export interface DeliveryOptions {
  readonly db: Database
  readonly tail: HistoryTail
  readonly client: HttpClient
  readonly userAgent: string
  readonly subscription: LeasedSubscription
  /** When the lease was taken, on the monotonic clock. */
  readonly leasedAt: number
  readonly leaseMs: number
  /** Fires when the node stops: what is under way is answered, and nothing more is sent. */
  readonly stopping: AbortSignal
  readonly random?: () => number
}

/** Why an event was not delivered. */
interface Undelivered {
  readonly error: { readonly code: string; readonly message: string }
  readonly isFinal: boolean
  readonly retryAfterMs: number | undefined
}

/** The lease is somebody else's by now, or was given back. */
class LeaseLost extends Error {}

export class Delivery {
  readonly #options: DeliveryOptions
  /** Until when, on the monotonic clock, nobody else may deliver. */
  #leasedUntil: number
  #savedAt = performance.now()
  #unsaved = 0
  #lastEvent: { id: string; at: number } | null = null
  #settings: DeliverySettings

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#settings = options.subscription
    this.#leasedUntil = options.leasedAt + options.leaseMs
  }

  /** Delivers until it is stopped, has lost its lease, or nothing gets through; then somebody else goes on. */
  async run(): Promise<void> {
    const { db, tail, subscription } = this.#options
    const { id, holder, position } = subscription
    const stopFollowing = await tail.follow()
    try {
      await this.#deliverAll(parsePosition(position) ?? { from: frontierAt(0), to: null, at: null })
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      stopFollowing()
      await db.run(releaseSubscription({ id, holder }))
    }
  }

  async #deliverAll(start: EventPosition): Promise<void> {
    const { tail, subscription, leaseMs } = this.#options
    let position = start
    while (!this.#options.stopping.aborted) {
      const page = await tail.page(position)
      if (page !== null) {
        const wanted = page.rows.filter(
          (run) => run.projectId === subscription.projectId && isWanted(run, this.#settings.filter),
        )
        const { count, failure } = await this.#deliverPage(wanted, (last) =>
          last === undefined ? position : page.positionAt(last),
        )
        const last = wanted[count - 1]
        position = count === wanted.length ? page.next : last === undefined ? position : page.positionAt(last)
        if (failure) return this.#fail(failure, position)
      }
      const isDue = performance.now() - this.#savedAt >= leaseMs / 6
      if (this.#unsaved > 0 || isDue) await this.#save(position)
      if (page === null) await tail.wait(leaseMs / 6, this.#options.stopping)
    }
  }

  /**
   * Delivers a page. Answers how much of it from its beginning on was taken, and the first failure: then nothing more
   * is sent. What failed before is tried alone first, so that it does not have others sent again each time.
   */
  async #deliverPage(
    wanted: readonly EndedRun[],
    positionBehind: (last: EndedRun | undefined) => EventPosition,
  ): Promise<{ count: number; failure: Undelivered | null }> {
    const lanes = this.#lanesOf(wanted)
    const done = new Set<EndedRun>()
    let count = 0
    let failure: Undelivered | null = null
    let broken: unknown
    let isSaving = false
    const advance = () => {
      while (count < wanted.length && done.has(wanted[count] as EndedRun)) count++
    }
    const deliver = async (message: readonly EndedRun[]): Promise<boolean> => {
      const undelivered = await this.#post(message)
      if (undelivered) {
        failure ??= undelivered
        return false
      }
      for (const run of message) done.add(run)
      advance()
      this.#count(message)
      if (!isSaving && performance.now() - this.#savedAt >= SAVE_EVERY_MS) {
        isSaving = true
        await this.#save(positionBehind(wanted[count - 1]))
        isSaving = false
      }
      return true
    }
    const work = async () => {
      for (let lane = lanes.shift(); lane; lane = lanes.shift())
        for (const message of lane)
          if (failure || broken || this.#options.stopping.aborted || !(await deliver(message))) return
    }
    // Whoever finds the lease lost stops the others, and nothing is on its way any more when that is told.
    const worker = () =>
      work().catch((error: unknown) => {
        broken ??= error
      })
    const first = this.#settings.failures > 0 ? lanes[0]?.shift() : undefined
    if (first && !(await deliver(first))) return { count, failure }
    await Promise.all(Array.from({ length: LANES }, worker))
    if (broken) throw broken
    return { count, failure }
  }

  /** What goes one after another, in messages; single events of different tasks do not wait for one another. */
  #lanesOf(wanted: readonly EndedRun[]): EndedRun[][][] {
    const { batchSize } = this.#settings
    if (batchSize > 1) {
      const batches: EndedRun[][] = []
      for (let i = 0; i < wanted.length; i += batchSize) batches.push(wanted.slice(i, i + batchSize))
      return [batches]
    }
    const byTask = new Map<string, EndedRun[][]>()
    for (const run of wanted) {
      const lane = byTask.get(run.taskId)
      if (lane) lane.push([run])
      else byTask.set(run.taskId, [[run]])
    }
    return [...byTask.values()]
  }

  #count(runs: readonly EndedRun[]): void {
    this.#unsaved += runs.length
    const last = runs.at(-1)
    if (last) this.#lastEvent = { id: eventIdOf(last.id), at: last.endedAt }
  }

  async #post(runs: readonly EndedRun[]): Promise<Undelivered | null> {
    const { client, leaseMs } = this.#options
    const { url, batchSize } = this.#settings
    const target = targetAt(url)
    if (target === null)
      return {
        error: { code: 'invalid_url', message: 'the URL cannot be read' },
        isFinal: true,
        retryAfterMs: undefined,
      }
    // A message must be answered while nobody else may deliver, or a later one could overtake it.
    const timeoutMs = Math.floor(leaseMs / 3)
    if (performance.now() + timeoutMs > this.#leasedUntil) await this.#renew()
    const signal = AbortSignal.timeout(timeoutMs)
    const body = bodyOf(runs, batchSize)
    const headers = this.#headersOf(runs, body)
    const result = await client.send({ target, method: 'POST', headers, body, signal })
    return toUndelivered(result, { target, timedOut: signal.aborted, timeoutMs })
  }

  #headersOf(runs: readonly EndedRun[], body: string): string[] {
    const { userAgent, subscription } = this.#options
    const id = messageIdOf(runs)
    const timestamp = String(Math.floor(Date.now() / 1_000))
    return [
      ...['user-agent', userAgent, 'accept-encoding', 'identity'],
      ...['content-type', this.#settings.batchSize > 1 ? BATCH_TYPE : SINGLE_TYPE],
      ...['webhook-id', id, 'webhook-timestamp', timestamp],
      ...['webhook-signature', signMessage({ id, timestamp, body }, keysOf(this.#settings.secret))],
      ...['belfry-subscription-id', subscription.id],
    ]
  }

  /** Keeps the lease without saying anything about progress. */
  async #renew(): Promise<void> {
    await this.#write(null)
  }

  async #save(position: EventPosition): Promise<void> {
    await this.#write(formatPosition(position))
  }

  async #write(position: string | null): Promise<void> {
    const { db, subscription, leaseMs } = this.#options
    const { id, fence } = subscription
    const askedAt = performance.now()
    const progress =
      position === null
        ? { delivered: 0, lastEvent: null }
        : { delivered: this.#unsaved, lastEvent: this.#lastEvent }
    if (position !== null) this.#unsaved = 0
    const [held] = await db.run(saveDelivered({ id, fence, position, leaseMs, ...progress }))
    if (!held) throw new LeaseLost()
    this.#settings = held
    this.#leasedUntil = askedAt + leaseMs
    if (position !== null) this.#savedAt = askedAt
  }

  async #fail({ error, isFinal, retryAfterMs }: Undelivered, position: EventPosition): Promise<void> {
    const { db, subscription, random = Math.random } = this.#options
    await this.#save(position)
    const { id, fence } = subscription
    const { failures } = this.#settings
    const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures, 20))
    const retryInMs = Math.max(retryAfterMs ?? 0, longest / 2 + (random() * longest) / 2)
    await db.run(saveFailed({ id, fence, error, retryInMs, isFinal }))
    throw new LeaseLost()
  }
}

const SINGLE_TYPE = 'application/cloudevents+json'
const BATCH_TYPE = 'application/cloudevents-batch+json'

function bodyOf(runs: readonly EndedRun[], batchSize: number): string {
  const events = runs.map(eventOf)
  return JSON.stringify(batchSize > 1 ? events : events[0])
}

/** Stable for the same events: whoever is told twice recognises it. */
function messageIdOf(runs: readonly EndedRun[]): string {
  const [first, last] = [runs[0]?.id ?? '', runs.at(-1)?.id ?? '']
  return runs.length === 1 ? eventIdOf(first) : `${first}.${last}.${runs.length}.ended`
}

function keysOf(secret: string): readonly SigningKey[] {
  const parsed = parseSecret(secret)
  return parsed.ok ? [signingKey(parsed.secret)] : []
}

function targetAt(address: string): Target | null {
  const parsed = parseTargetUrl(address)
  return parsed.ok ? targetOf(parsed.url) : null
}

const GONE = 410

function toUndelivered(
  result: HttpResult,
  { target, timedOut, timeoutMs }: { target: Target; timedOut: boolean; timeoutMs: number },
): Undelivered | null {
  const { response } = result
  if (response === undefined || (!result.ok && response.status < 300)) {
    if (result.ok) return null
    if (timedOut) {
      const message = `${target.host} did not answer within ${timeoutMs / 1_000} s`
      return { error: { code: 'timed_out', message }, isFinal: false, retryAfterMs: undefined }
    }
    const { code, message } = result.failure.error
    return { error: { code, message }, isFinal: !result.failure.retryable, retryAfterMs: undefined }
  }
  const { status, headers } = response
  if (status >= 200 && status < 300) return null
  const wish = headers['retry-after']
  return {
    error: { code: 'http_status', message: `HTTP ${status} from ${target.host}` },
    // The receiver says that it is gone for good.
    isFinal: status === GONE,
    retryAfterMs:
      wish === undefined ? undefined : parseRetryAfter(wish, { date: headers.date, now: Date.now() }),
  }
}

import { uuidv7 } from '../../core/ids.ts'
import { type EndedRun, runEventOf } from '../../core/run/run-event.ts'
import { HttpClient, type HttpClientOptions } from '../../outgoing/http-client.ts'
import type { EndpointKeys } from '../../outgoing/signer.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/service.ts'
import type {
  SubscriptionTester,
  TestedDelivery,
  TestedSubscription,
} from '../../transport/subscription-tester.ts'
import { postEvents } from './message.ts'

export interface TesterOptions {
  readonly clock: Clock
  readonly userAgent: string
  readonly keys: EndpointKeys
  /** Where receivers may be, and how their names are resolved. */
  readonly http: HttpClientOptions
  /** How long a receiver may take to respond, the same as for real events. */
  readonly timeoutMs: number
}

/** Maximum length of the displayed response, in characters. */
const MAX_BODY_CHARACTERS = 1_000

/** Sends one event of the type `belfry.test`, in the form of an event about a run, signed and guarded like every other. */
export class Tester implements SubscriptionTester, Service {
  readonly #options: TesterOptions
  readonly #client: HttpClient

  constructor(options: TesterOptions) {
    this.#options = options
    this.#client = new HttpClient(options.http)
  }

  start(): void {}

  stop(): Promise<void> {
    return this.#client.close()
  }

  async send(subscription: TestedSubscription): Promise<TestedDelivery> {
    const { clock, userAgent, keys, timeoutMs } = this.#options
    const now = clock.now()
    const id = `${uuidv7()}.test`
    const event = { ...runEventOf(sampleOf(subscription, Math.floor(now))), id, type: 'belfry.test' }
    const beganAt = performance.now()
    const { undelivered, response } = await postEvents(
      { id, events: [event] },
      {
        client: this.#client,
        userAgent,
        subscription,
        keys,
        settings: subscription,
        timeoutMs,
        now,
      },
    )
    return {
      eventId: id,
      isTaken: undelivered === null,
      answer: response
        ? { status: response.status, body: response.body.slice(0, MAX_BODY_CHARACTERS) }
        : null,
      durationMs: Math.round(performance.now() - beganAt),
      error: undelivered?.error ?? null,
    }
  }
}

/**
 * Returns a fictitious run of a fictitious task with all fields set, so that receivers that parse events find every member they
 * know.
 */
function sampleOf({ projectId, name }: TestedSubscription, now: number): EndedRun {
  return {
    id: uuidv7(),
    projectId,
    taskId: uuidv7(),
    xid: 0,
    us: now * 1_000,
    state: 'completed',
    kind: 'manual',
    reason: null,
    outcome: 'completed',
    scheduledFor: now,
    startedAt: now,
    endedAt: now,
    coversUntil: null,
    coversCount: null,
    lateMs: 0,
    attempt: 1,
    losses: 0,
    version: 1,
    retryOf: null,
    error: null,
    taskName: `a test of the subscription${name === null ? '' : ` ${name}`}`,
    taskKey: null,
    owner: null,
    tags: [],
    type: 'sleep',
    queue: 'default',
    tracingId: null,
  }
}

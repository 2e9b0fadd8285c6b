import { uuidv7 } from '../../core/ids.ts'
import { type EndedRun, runEventOf } from '../../core/run/run-event.ts'
import type { Network } from '../../core/values/network.ts'
import { HttpClient } from '../../outgoing/http-client.ts'
import type { NameResolver } from '../../outgoing/names/name-resolver.ts'
import type { OwnPorts } from '../../outgoing/own-ports.ts'
import type { ProjectNetworks } from '../../outgoing/project-networks.ts'
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
  /** Whether receivers may be on loopback or in private networks. */
  readonly allowPrivateAddresses: boolean
  /** Networks in which receivers may be even if private addresses are otherwise not allowed. */
  readonly allowedNetworks?: readonly Network[]
  /** The projects' restrictions of these networks. */
  readonly projectNetworks?: ProjectNetworks
  /** The ports that this process itself listens on, which must not be called. */
  readonly ownPorts?: OwnPorts
  /** Shared with all other code in this process that resolves names. */
  readonly resolver?: NameResolver
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
    const { allowPrivateAddresses, allowedNetworks, projectNetworks, ownPorts, resolver } = options
    this.#client = new HttpClient({
      allowPrivate: allowPrivateAddresses,
      allowedNetworks,
      projectNetworks,
      own: ownPorts,
      resolver,
    })
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

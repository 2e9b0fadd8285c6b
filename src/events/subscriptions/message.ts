/** The messages sent to a subscription's receiver, and the meaning of its responses. */

import { parseTargetUrl } from '../../core/action/target-url.ts'
import { signMessage } from '../../core/action/webhook-signature.ts'
import { eventOf, type HistoryEvent } from '../../core/run/history-event.ts'
import {
  type HttpClient,
  type HttpResponse,
  type HttpResult,
  type Target,
  targetOf,
} from '../../outgoing/http-client.ts'
import { parseRetryAfter } from '../../outgoing/retry-after.ts'
import type { EndpointKeys } from '../../outgoing/signer.ts'
import type { DeliverySettings } from '../../store/events/deliveries.ts'
import type { SubscriptionRow } from '../../store/events/subscriptions.ts'

/** Why a message was not delivered. */
export interface Undelivered {
  readonly error: { readonly code: string; readonly message: string }
  /** Whether sending more is useless. */
  readonly isFinal: boolean
  readonly retryAfterMs: number | undefined
}

/** The sender and the receiver. */
export interface Sender {
  readonly client: HttpClient
  readonly userAgent: string
  readonly subscription: Pick<SubscriptionRow, 'id' | 'projectId'>
  readonly keys: EndpointKeys
  readonly settings: Pick<DeliverySettings, 'url' | 'batchSize' | 'secret' | 'keyId'>
  readonly timeoutMs: number
  /** The database's time, which receivers compare with their own. */
  readonly now: number
}

/** Sends events as one message; returns null if it was accepted. */
export async function sendMessage(
  told: readonly HistoryEvent[],
  sender: Sender,
): Promise<Undelivered | null> {
  const events = told.map(eventOf)
  const [only] = events
  const id = only && events.length === 1 ? only.id : batchIdOf(told)
  const { undelivered } = await postEvents({ id, events }, sender)
  return undelivered
}

/** The content of one request: events, and the id that identifies the message. */
export interface Message {
  readonly id: string
  readonly events: readonly object[]
}

/** The result of sending a message. */
export interface Posted {
  /** Null if it was accepted. */
  readonly undelivered: Undelivered | null
  /** The response, if its head arrived. */
  readonly response: HttpResponse | undefined
}

/** Signs a message and sends it once. */
export async function postEvents(
  { id, events }: Message,
  { client, userAgent, subscription, keys, settings, timeoutMs, now }: Sender,
): Promise<Posted> {
  const { url, batchSize, secret, keyId } = settings
  const target = targetAt(url)
  if (target === null) {
    const error = { code: 'invalid_url', message: 'the URL is not valid' }
    return { undelivered: { error, isFinal: true, retryAfterMs: undefined }, response: undefined }
  }
  const signal = AbortSignal.timeout(timeoutMs)
  const body = JSON.stringify(batchSize > 1 ? events : events[0])
  const timestamp = String(Math.floor(now / 1_000))
  const { projectId } = subscription
  const own = keys.ofSubscription({ ...subscription, secret, keyId })
  // Receivers may verify with either the subscription's own secret or one bound to their origin.
  const signedWith = [...own, ...keys.boundTo({ projectId, origin: target.origin })]
  const headers = [
    ...['user-agent', userAgent, 'accept-encoding', 'identity'],
    ...['content-type', batchSize > 1 ? BATCH_TYPE : SINGLE_TYPE],
    ...['webhook-id', id, 'webhook-timestamp', timestamp],
    ...['webhook-signature', signMessage({ id, timestamp, body }, signedWith)],
    ...['belfry-subscription-id', subscription.id],
  ]
  const result = await client.send({ target, method: 'POST', headers, body, signal, projectId })
  const undelivered = toUndelivered(result, { target, timedOut: signal.aborted, timeoutMs, now })
  return { undelivered, response: result.response }
}

const SINGLE_TYPE = 'application/cloudevents+json'
const BATCH_TYPE = 'application/cloudevents-batch+json'

/** Stable for the same events, so that a receiver recognises duplicates. */
const batchIdOf = (told: readonly HistoryEvent[]): string =>
  `${told[0]?.id ?? ''}.${told.at(-1)?.id ?? ''}.${told.length}.ended`

function targetAt(address: string): Target | null {
  const parsed = parseTargetUrl(address)
  return parsed.ok ? targetOf(parsed.url) : null
}

const GONE = 410

function toUndelivered(
  result: HttpResult,
  { target, timedOut, timeoutMs, now }: { target: Target; timedOut: boolean; timeoutMs: number; now: number },
): Undelivered | null {
  const { response } = result
  if (response === undefined || (!result.ok && response.status < 300)) {
    if (result.ok) return null
    if (timedOut) {
      const message = `${target.host} did not respond within ${timeoutMs / 1_000} s`
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
    // The receiver reports that it is permanently gone.
    isFinal: status === GONE,
    retryAfterMs: wish === undefined ? undefined : parseRetryAfter(wish, { date: headers.date, now }),
  }
}

/**
 * Trying a subscription out, as an api node sees it. What is sent goes the way of every event, so it shows what an event
 * would meet; but nothing has happened, nothing is noted, and what waits to be delivered stays where it is.
 */
import type { SubscriptionRow } from '../store/events/subscriptions.ts'

/** A subscription that is tried out. */
export type TestedSubscription = Pick<
  SubscriptionRow,
  'id' | 'projectId' | 'name' | 'url' | 'batchSize' | 'secret' | 'keyId'
>

/** What became of the event. */
export interface TestedDelivery {
  /** The event's id, by which a receiver finds it in its log. */
  readonly eventId: string
  /** Whether the receiver would count as having taken it. */
  readonly isTaken: boolean
  /** What it answered, when the head of an answer came. */
  readonly answer: { readonly status: number; readonly body: string } | null
  readonly durationMs: number
  /** Why it was not taken. */
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Sends receivers events that nothing has happened for. */
export interface SubscriptionTester {
  send(subscription: TestedSubscription): Promise<TestedDelivery>
}

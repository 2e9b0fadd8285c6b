/**
 * Tests of subscriptions, as an api node sees them. The test event is sent the same way as every event, so it shows what an
 * event would encounter; but it does not correspond to a real event, nothing is recorded, and pending deliveries are not
 * affected.
 */
import type { SubscriptionRow } from '../store/events/subscriptions.ts'

/** A subscription to be tested. */
export type TestedSubscription = Pick<
  SubscriptionRow,
  'id' | 'projectId' | 'name' | 'url' | 'batchSize' | 'secret' | 'keyId'
>

/** The result of the test. */
export interface TestedDelivery {
  /** The event's id, to find it in the receiver's log. */
  readonly eventId: string
  /** Whether this counts as delivered. */
  readonly isTaken: boolean
  /** The receiver's response, if its head arrived. */
  readonly answer: { readonly status: number; readonly body: string } | null
  readonly durationMs: number
  /** Why it was not delivered. */
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Sends test events to receivers. */
export interface SubscriptionTester {
  send(subscription: TestedSubscription): Promise<TestedDelivery>
}

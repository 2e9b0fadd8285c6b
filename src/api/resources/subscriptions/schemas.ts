import { z } from 'zod'
import { ACTION_TYPES } from '../../../core/action/action.ts'
import { parseWantedUrl } from '../../../core/action/target-url.ts'
import { parseSecret } from '../../../core/action/webhook-signature.ts'
import { AUDIT_ACTIONS } from '../../../core/audit-log/audit-action.ts'
import { EVENT_SUBJECTS } from '../../../core/run/history-event.ts'
import { ENDED_STATES } from '../../../core/run/run-event.ts'
import { DAY_MS, MINUTE_MS } from '../../../core/values/time-units.ts'
import { durationBetween, Uuid } from '../../../operations/validation/values.ts'
import { editOf } from '../../http/schemas/edit.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { QueueName } from '../tasks/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MAX_WANTED = 100

const some = <T extends z.ZodType>(item: T) => z.array(item).min(1).max(MAX_WANTED).optional()

export const EventFilter = z
  .strictObject({
    events: some(z.enum(EVENT_SUBJECTS)).describe(
      'What the events are about: `runs` that end (default), `circuits` of targets that open or close, or entries of the `audit-log` and nothing else, which needs the role admin. The other lists apply to runs.',
    ),
    actions: some(z.enum(AUDIT_ACTIONS)).describe('Only these kinds of changes in the audit log.'),
    states: some(z.enum(ENDED_STATES)),
    taskIds: some(Uuid),
    tags: some(z.string().min(1).max(100)),
    types: some(z.enum(ACTION_TYPES)),
    queues: some(QueueName),
    owners: some(z.string().min(1).max(200)),
  })
  .superRefine(({ events, actions, ...ofRuns }, context) => {
    const refuse = (list: string, message: string) =>
      context.addIssue({ code: 'custom', path: [list], message })
    const isAuditLog = events?.includes('audit-log') ?? false
    if (isAuditLog && events?.some((one) => one !== 'audit-log'))
      refuse('events', 'must not combine audit-log with other events; create a second subscription for them')
    if (!isAuditLog && actions !== undefined) refuse('actions', 'is allowed only with the events audit-log')
    for (const [list, values] of Object.entries(ofRuns))
      if (isAuditLog && values !== undefined) refuse(list, 'is not allowed with the events audit-log')
  })
  .describe(
    'Which events to send: for each given list, one value must match. An empty filter matches all events of runs.',
  )
  .meta({ id: 'EventFilter' })

const Url = z
  .string()
  .max(4_096)
  .superRefine((text, context) => {
    const target = parseWantedUrl(text)
    if (!target.ok) context.addIssue({ code: 'custom', message: target.reason })
  })
  .meta({ format: 'uri', example: 'https://example.com/events' })

const Secret = z
  .string()
  .max(200)
  .superRefine((text, context) => {
    const parsed = parseSecret(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })
  .describe('Secret that signs the events, as specified by Standard Webhooks. Generated if omitted.')

const After = z
  .string()
  .min(1)
  .max(4_000)
  .describe(
    'Start after the event with this id, or with runs that ended at or after this timestamp. Default now.',
  )

const settings = {
  name: z.string().min(1).max(200).nullable().optional(),
  url: Url,
  filter: EventFilter.optional(),
  batchSize: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Maximum number of events per POST. With 1 (default) the body is an event; with more it is an array.',
    ),
  giveUpAfter: durationBetween(MINUTE_MS, 30 * DAY_MS, 'from 1m to 30d')
    .optional()
    .describe('Time of continuous failure after which the subscription is disabled. Default 1d.'),
  secret: Secret.optional(),
}

export const CreateSubscription = z
  .strictObject({ ...settings, after: After.optional() })
  .meta({ id: 'CreateSubscription' })
export type CreateSubscription = z.output<typeof CreateSubscription>

export const EditSubscription = editOf({ ...settings, url: Url.optional() }).meta({ id: 'EditSubscription' })
export type EditSubscription = z.output<typeof EditSubscription>

export const ResumeSubscription = z.strictObject({ after: After.optional() }).nullish()

const LastError = z.object({ code: z.string(), message: z.string(), at: Stored })

const fields = {
  id: Uuid,
  name: z.string().nullable(),
  url: z.string().describe('Masked after the host for callers who may not change the subscription.'),
  filter: EventFilter,
  batchSize: z.int(),
  giveUpAfter: z.string(),
  state: z
    .enum(['active', 'failing', 'disabled'])
    .describe(
      'failing: deliveries for some or all tasks fail and are retried at `retryAt`. disabled: nothing is sent until the subscription is resumed.',
    ),
  position: z.string().describe('Position up to which all events were delivered; can be used as `after`.'),
  delivered: z.int().describe('Number of delivered events, including repetitions.'),
  lastEvent: z.object({ id: z.string(), endedAt: Stored }).nullable(),
  failingSince: Stored.nullable(),
  failures: z.int().describe('Consecutive failures.'),
  retryAt: Stored.nullable(),
  lastError: LastError.nullable(),
  disabledAt: Stored.nullable(),
  held: z
    .array(
      z.object({
        taskId: Uuid.nullable().describe('Null for events of a target.'),
        target: z.string().nullable().describe('The target whose circuit the events are about.'),
        failingSince: Stored,
        failures: z.int().describe('Consecutive failures; 0 once deliveries succeed again.'),
        retryAt: Stored.nullable().describe('Time of the next attempt; null if there is none.'),
        lastError: LastError.nullable(),
        position: z
          .string()
          .describe('Position up to which the events of this task were delivered; can be used as `after`.'),
      }),
    )
    .describe(
      'Tasks whose deliveries are suspended because the receiver rejects their events. Each is retried separately.',
    ),
  gap: z
    .object({ from: Stored, to: Stored, at: Stored.describe('When this was noticed.') })
    .nullable()
    .describe(
      'Time range whose events may not have been delivered because they were deleted first; null if there is none.',
    ),
  createdAt: Stored,
  updatedAt: Stored,
}

export const Subscription = z.object(fields).meta({ id: 'Subscription' })
export type Subscription = z.output<typeof Subscription>

export const CreatedSubscription = z
  .object({ ...fields, secret: z.string().describe('Returned only in this response.') })
  .meta({ id: 'CreatedSubscription' })

export const SubscriptionPage = z
  .object({ items: z.array(Subscription), nextCursor: z.string().nullable() })
  .meta({ id: 'SubscriptionPage' })

export const SubscriptionTest = z
  .object({
    eventId: z.string().describe('The `webhook-id` of the test event.'),
    delivered: z.boolean().describe('Whether the receiver answered with a 2xx status in time.'),
    status: z.int().nullable().describe('HTTP status of the response; null if there was none.'),
    body: z.string().nullable().describe('The beginning of the response body.'),
    durationMs: z.int(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: 'SubscriptionTest' })
export type SubscriptionTest = z.output<typeof SubscriptionTest>

export const ListSubscriptions = z.strictObject({ limit: Limit, cursor: Cursor })

import { z } from 'zod'
import { ACTION_TYPES } from '../../../core/action/action.ts'
import { AUDIT_ACTIONS } from '../../../core/audit-log/audit-action.ts'
import { EVENT_SUBJECTS } from '../../../core/run/history-event.ts'
import { ENDED_STATES } from '../../../core/run/run-event.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { AuditScope } from '../audit-log/schemas.ts'
import { QueueName } from '../tasks/schemas.ts'

/** Maximum length of a position that a client sends back. */
const MAX_POSITION_CHARACTERS = 4_000

export const WatchEvents = z.strictObject({
  project: z
    .string()
    .max(100)
    .optional()
    .describe('Project to watch, instead of the header `belfry-project`, which browsers cannot send.'),
  after: z
    .string()
    .min(1)
    .max(MAX_POSITION_CHARACTERS)
    .optional()
    .describe(
      'Start after the event with this id, or with the runs that ended at or after this timestamp. ' +
        '`Last-Event-ID` takes precedence.',
    ),
  events: z
    .enum([...EVENT_SUBJECTS, 'all'])
    .optional()
    .describe(
      'What the events are about: `runs` that end (default), `circuits` of targets that open or close, `all` for both, or entries of the `audit-log`, which needs the role admin. The other filters apply to runs.',
    ),
  action: z.enum(AUDIT_ACTIONS).optional().describe('Only this kind of change in the audit log.'),
  scope: AuditScope.describe('Scope of the entries of the audit log, as in `GET /v1/audit-log`.'),
  state: z.enum(ENDED_STATES).optional().describe('Only runs that ended in this state.'),
  taskId: Uuid.optional().describe('Only runs of this task.'),
  tag: z.string().min(1).max(100).optional().describe('Only runs of tasks with this tag.'),
  type: z.enum(ACTION_TYPES).optional().describe('Only runs of tasks with this type of action.'),
  queue: QueueName.optional().describe('Only runs of tasks in this queue.'),
  owner: z.string().min(1).max(200).optional().describe('Only runs of tasks of this owner.'),
})
export type WatchEvents = z.output<typeof WatchEvents>

export const LastEventId = z.looseObject({
  'last-event-id': z
    .string()
    .max(MAX_POSITION_CHARACTERS)
    .optional()
    .describe('Id of the last received event. Browsers send it when they reconnect.'),
})

/** The data of the event `hello`, the first on every stream. */
export interface EventsHello {
  readonly now: string
  readonly retryMs: number
}

/** The data of the event `gap`: events before `from` may be missing, later ones are not. */
export interface EventsGap {
  /** history_dropped: the events are no longer kept. position_unknown: the id is from another history. */
  readonly reason: 'history_dropped' | 'position_unknown'
  readonly from: string
}

/** The data of the event `end`, the last on a stream that the server ends. */
export interface EventsEnd {
  /** behind: the client did not read. stopping: the node stops. unavailable: the database does not answer. */
  readonly reason: 'behind' | 'stopping' | 'unavailable'
}

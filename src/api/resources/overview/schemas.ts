import { z } from 'zod'
import { REFUSED_OPERATIONS } from '../../../core/ledger/refusal-report.ts'
import { HISTORY_RANGES } from '../../../operations/overview/stats-history.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { Counted } from '../../http/schemas/counted.ts'
import { AuditSummary } from '../findings/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

const Lateness = z
  .object({ p50: z.int(), p99: z.int() })
  .nullable()
  .describe(
    'Milliseconds between the due time and the start of the first attempt, accurate to within a quarter.',
  )

const outcomes = {
  completed: z.int(),
  permanentlyFailed: z.int(),
  cancelled: z.int(),
  skipped: z.int().describe('Occurrences that did not run. One recorded skip may cover many.'),
  missed: z
    .int()
    .describe(
      'Number of missed and lost occurrences: they were skipped because they came due while no scheduler was running, or because their row was lost.',
    ),
  latenessMs: Lateness,
}

export const Stats = z
  .object({
    now: Stored.describe('Server time, for countdowns.'),
    verdict: z.object({
      isFine: z.boolean().describe('True if nothing needs attention.'),
      sentence: z.string(),
    }),
    runs: z
      .object({
        pending: Counted,
        running: Counted,
        retrying: Counted,
        late: Counted.extend({ oldestDueAt: Stored.nullable() }).describe(
          'Runs that have been due for more than 5 s and have not started, including those in a paused queue.',
        ),
      })
      .describe('Live runs by state.'),
    places: z
      .object({ total: z.int(), busy: Counted })
      .describe('Slots of all live workers, and how many are in use.'),
    tasks: z.object({
      total: Counted,
      paused: Counted.extend({ since: Stored.nullable().describe('Start of the longest pause.') }),
      failing: Counted.extend({
        items: z
          .array(
            z.object({
              taskId: Uuid,
              taskName: z.string().nullable(),
              failures: z.int().describe('Permanently failed runs since the latest success.'),
              atLeast: z
                .boolean()
                .describe('True if none of the latest 1 000 runs succeeded; earlier runs are not examined.'),
              since: Stored.describe('When the first of these runs was due.'),
              lastFailedAt: Stored,
            }),
          )
          .describe('The ten tasks that failed last.'),
      }).describe('Tasks whose latest run in the last 24 hours failed permanently.'),
    }),
    lastDay: z
      .object({ ...outcomes, isComplete: z.boolean() })
      .describe('The last 24 hours. Incomplete if some minutes have not been counted yet.'),
    minutes: z
      .array(z.object({ at: Stored, ...outcomes, isCounted: z.boolean() }))
      .describe(
        'The last 60 minutes by the end time of runs, oldest first. The last minute is still in progress.',
      ),
    next: z
      .object({
        minutes: z.array(z.object({ at: Stored, count: z.int() })),
        atLeast: z
          .boolean()
          .describe('True if not all occurrences after the next one of each task are counted.'),
        isEstimate: z.boolean().describe('True if the number is an estimate from a sample.'),
      })
      .describe('Occurrences in the next 60 minutes, starting with the current minute.'),
    audit: AuditSummary.describe(
      'Results of the audit, which checks that every task has its next occurrence scheduled or has ended.',
    ),
    refused: Counted.extend({
      items: z
        .array(
          z.object({
            operation: z.enum(REFUSED_OPERATIONS),
            taskId: Uuid.nullable(),
            taskName: z.string().nullable(),
            runId: Uuid.nullable(),
            error: z.string().describe('Reason, usually the error message of PostgreSQL.'),
            tries: z.int(),
            since: Stored,
            lastTriedAt: Stored,
          }),
        )
        .describe('The ten that were attempted last.'),
    }).describe('Rows that PostgreSQL rejects. Each is retried once per minute; other work is not affected.'),
    circuits: Counted.extend({
      items: z
        .array(
          z.object({
            target: z.string(),
            since: Stored.describe('When the circuit opened.'),
            nextProbeAt: Stored.describe('When the next call is attempted.'),
            error: z
              .object({ code: z.string(), message: z.string() })
              .nullable()
              .describe('The error of the latest call.'),
          }),
        )
        .describe('The ten that have been open longest.'),
    }).describe('Open circuits: targets that do not respond, whose runs wait.'),
    database: z
      .object({
        isWritable: z.boolean(),
        code: z
          .string()
          .nullable()
          .describe('The error code that requests receive while the database is not writable.'),
        detail: z.string().nullable().describe('Why the database is not writable and what to do about it.'),
      })
      .describe('Whether the database is writable.'),
    clock: z
      .object({
        steps: z.int().describe('How often the clock was set in the last 24 hours.'),
        lastStep: z
          .object({
            at: Stored.describe('When the change was detected, by the new clock.'),
            byMs: z.int().describe('Size of the change; negative if the clock was set back.'),
          })
          .nullable(),
      })
      .describe(
        'The clock of the database, which all nodes use. When it is set, runs may start early or late.',
      ),
    nodes: z.object({
      alive: z.int(),
      quiet: z.int(),
      lost: z.int().describe('Nodes declared dead in the last hour.'),
    }),
    shards: z.object({
      total: z.int(),
      unwatched: z.int(),
      unwatchedSince: Stored.nullable(),
    }),
  })
  .meta({ id: 'Stats' })
export type Stats = z.output<typeof Stats>

export type HistoryRange = (typeof HISTORY_RANGES)[number]

export const ReadStatsHistory = z.strictObject({
  range: z.enum(HISTORY_RANGES).default('24h').describe('Length of the period up to now. Default 24h.'),
})

export const StatsHistory = z
  .object({
    range: z.enum(HISTORY_RANGES),
    stepMinutes: z.int(),
    steps: z
      .array(z.object({ at: Stored.describe('Start of the step.'), ...outcomes, isCounted: z.boolean() }))
      .describe('By the end time of runs, oldest first. The last step is still in progress.'),
  })
  .meta({ id: 'StatsHistory' })
export type StatsHistory = z.output<typeof StatsHistory>

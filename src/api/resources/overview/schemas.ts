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
    'From the due instant to the start of the first attempt, in milliseconds; off by a quarter at most.',
  )

const outcomes = {
  completed: z.int(),
  permanentlyFailed: z.int(),
  cancelled: z.int(),
  skipped: z.int().describe('Occurrences that did not run, of which one run may speak for many.'),
  missed: z.int().describe('Those of them that came due while nobody was there, or whose row was lost.'),
  latenessMs: Lateness,
}

export const Stats = z
  .object({
    now: Stored.describe("The server's time, for countdowns."),
    verdict: z.object({
      isFine: z.boolean().describe('Nothing needs attention.'),
      sentence: z.string(),
    }),
    runs: z
      .object({
        pending: Counted,
        running: Counted,
        retrying: Counted,
        late: Counted.extend({ oldestDueAt: Stored.nullable() }).describe(
          'Due for more than 5 s and not begun; also what waits in a paused queue.',
        ),
      })
      .describe('What is live now.'),
    places: z
      .object({ total: z.int(), busy: Counted })
      .describe('Runs that all living workers can perform at once, and those that they hold.'),
    tasks: z.object({
      total: Counted,
      paused: Counted.extend({ since: Stored.nullable().describe('When the longest pause began.') }),
      failing: Counted.extend({
        items: z
          .array(
            z.object({
              taskId: Uuid,
              taskName: z.string().nullable(),
              failures: z.int().describe('Runs that failed for good since the latest success.'),
              atLeast: z
                .boolean()
                .describe(
                  'There may be more: no success is among the latest 1 000 runs, and no more are looked at.',
                ),
              since: Stored.describe('When the first of those was due.'),
              lastFailedAt: Stored,
            }),
          )
          .describe('The ten that failed last.'),
      }).describe('Tasks whose latest run of the last 24 hours failed for good.'),
    }),
    lastDay: z
      .object({ ...outcomes, isComplete: z.boolean() })
      .describe('The last 24 hours. Not complete: some minutes have not been counted yet.'),
    minutes: z
      .array(z.object({ at: Stored, ...outcomes, isCounted: z.boolean() }))
      .describe('The last 60 minutes by when runs ended, oldest first; the last one has only begun.'),
    next: z
      .object({
        minutes: z.array(z.object({ at: Stored, count: z.int() })),
        atLeast: z
          .boolean()
          .describe('Not everything that follows the next occurrence of each task is counted.'),
        isEstimate: z.boolean().describe('Counted in a part of the agenda and scaled up.'),
      })
      .describe('What comes due within the next 60 minutes, beginning with the one that has begun.'),
    audit: AuditSummary.describe(
      'Whether every task has what it goes on with or ended with, and what was lost and put back.',
    ),
    refused: Counted.extend({
      items: z
        .array(
          z.object({
            operation: z.enum(REFUSED_OPERATIONS),
            taskId: Uuid.nullable(),
            taskName: z.string().nullable(),
            runId: Uuid.nullable(),
            error: z.string().describe('Why, mostly in the words of PostgreSQL.'),
            tries: z.int(),
            since: Stored,
            lastTriedAt: Stored,
          }),
        )
        .describe('The ten that were tried last.'),
    }).describe(
      'Rows that PostgreSQL refuses to write. Each is tried again once a minute, and everything else goes on.',
    ),
    database: z
      .object({
        isWritable: z.boolean(),
        code: z.string().nullable().describe('Why not: the code that requests are refused with meanwhile.'),
        detail: z.string().nullable().describe('Why not, and what to do about it.'),
      })
      .describe('Whether the database can be written to.'),
    clock: z
      .object({
        steps: z.int().describe('How often the clock was set within the last 24 hours.'),
        lastStep: z
          .object({
            at: Stored.describe('When it was noticed, by the clock as it was set.'),
            byMs: z.int().describe('By how much: negative when it was set back.'),
          })
          .nullable(),
      })
      .describe("The database's clock, which is everybody's. When it is set, runs may begin early or late."),
    nodes: z.object({
      alive: z.int(),
      quiet: z.int(),
      lost: z.int().describe('Declared dead by the others within the last hour.'),
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
  range: z.enum(HISTORY_RANGES).default('24h').describe('How far back from now. Default 24h.'),
})

export const StatsHistory = z
  .object({
    range: z.enum(HISTORY_RANGES),
    stepMinutes: z.int(),
    steps: z
      .array(z.object({ at: Stored.describe('When the step begins.'), ...outcomes, isCounted: z.boolean() }))
      .describe('By when runs ended, oldest first; the last step has only begun.'),
  })
  .meta({ id: 'StatsHistory' })
export type StatsHistory = z.output<typeof StatsHistory>

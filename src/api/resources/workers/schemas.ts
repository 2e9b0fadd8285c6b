/** What workers of the users' own say and are told; docs/reference/worker-protocol.md explains it. */
import { z } from 'zod'
import { HandlerName } from '../../../operations/tasks/action-schema.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import { QueueName } from '../tasks/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** Runs that one request may be about. */
export const MAX_RUNS_A_REQUEST = 500
/** For how long a claim may wait. */
export const MAX_WAIT_MS = 30_000

const unique = (items: readonly unknown[]) => new Set(items).size === items.length
export const eachOnce = <Item extends { readonly runId: string }>(items: readonly Item[]) =>
  unique(items.map(({ runId }) => runId))
export const ONCE = 'must name each run once'

const Fence = z.int().min(1).max(2_147_483_647)
const Held = { runId: Uuid, fence: Fence.describe('As it was given with the run.') }

export const RegisterWorker = z
  .strictObject({
    handlers: z
      .array(HandlerName)
      .min(1)
      .max(200)
      .refine(unique, 'must name each handler once')
      .describe('Names of the handlers that it offers.'),
    name: z.string().min(1).max(200).optional().describe('For people: such as host and process.'),
    version: z.string().min(1).max(100).optional(),
    concurrency: z.int().min(1).max(10_000).optional().describe('Runs that it performs at once. Default 10.'),
    labels: z.array(z.string().min(1).max(100)).max(20).optional().describe('What else it is able to do.'),
    queues: z
      .array(QueueName)
      .min(1)
      .max(100)
      .nullable()
      .optional()
      .describe('The queues that it keeps to. Left out: all of them.'),
  })
  .meta({ id: 'RegisterWorker' })

export const RegisteredWorker = z
  .object({
    workerId: Uuid,
    token: z
      .string()
      .describe('To be sent with every other request as `Authorization: Bearer`. It is told only here.'),
    heartbeatMs: z.int().describe('How often it has to show that it lives.'),
    leaseMs: z.int().describe('After a silence of this length it is dead and its runs are given to others.'),
  })
  .meta({ id: 'RegisteredWorker' })

export const ClaimRuns = z
  .strictObject({
    requestId: Uuid.describe(
      'Yours to choose. A repetition with the same one is answered with the same runs.',
    ),
    limit: z.int().min(1).max(MAX_RUNS_A_REQUEST).describe('How many it can begin at once.'),
    waitMs: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .optional()
      .describe('For how long to wait when there is nothing. Default 20000.'),
  })
  .meta({ id: 'ClaimRuns' })

const ClaimedRun = z
  .object({
    runId: Uuid,
    taskId: Uuid,
    handler: z.string(),
    payload: z.unknown().describe('As the task has it; null without one.'),
    scheduledFor: Stored,
    attempt: z.int().describe('1 for the first.'),
    fence: z.int().describe('To be sent with everything that is said about this attempt.'),
    timeoutMs: z.int().describe('The attempt has to be stopped after this time.'),
    traceparent: z.string().describe('W3C trace context of the attempt.'),
    tracingId: z.string().nullable().describe('The id of its own that the task gives.'),
  })
  .meta({ id: 'ClaimedRun' })

export const ClaimedRuns = z.object({ runs: z.array(ClaimedRun) }).meta({ id: 'ClaimedRuns' })

const Progress = z
  .strictObject({
    fraction: z.number().min(0).max(1).nullable().optional(),
    message: z.string().max(500).nullable().optional(),
  })
  .describe('How far it is. Only the latest is kept, and only while the run goes on.')

export const BeatWorker = z
  .strictObject({
    runs: z
      .array(z.strictObject({ ...Held, progress: Progress.optional() }))
      .max(MAX_RUNS_A_REQUEST)
      .refine(eachOnce, ONCE)
      .optional()
      .describe('Runs in hand. What a worker that names runs has not named for a lease is handed back.'),
  })
  .nullish()
  .meta({ id: 'BeatWorker' })

export const BeatAnswer = z
  .object({
    cancelled: z.array(Uuid).describe('A user asked that these be stopped: stop them and report.'),
    lost: z
      .array(Uuid)
      .describe("No longer the worker's: stop them. What is reported about them will not count."),
  })
  .meta({ id: 'BeatAnswer' })

const LogLine = z.strictObject({
  at: Instant,
  level: z.enum(['debug', 'info', 'warn', 'error']),
  message: z.string().max(100_000),
})

export const Report = z.strictObject({
  ...Held,
  outcome: z
    .enum(['completed', 'failed', 'timed_out', 'cancelled', 'lost'])
    .describe(
      'lost: the worker cannot vouch for the attempt, because it was cut off from Belfry for too long. It counts as if its worker had died.',
    ),
  result: z
    .unknown()
    .optional()
    .describe('Of a handler that completed. Kept up to 65536 characters of JSON.'),
  error: z
    .strictObject({
      code: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must consist of lower-case letters, digits and underscores')
        .optional()
        .describe('Default handler_failed.'),
      message: z.string().max(100_000),
      stack: z.string().max(100_000).nullable().optional(),
    })
    .optional(),
  retryable: z.boolean().optional().describe('False: the run ends, whatever the task says. Default true.'),
  retryAt: Instant.nullable()
    .optional()
    .describe('When to try again, instead of what the task says; 30 days from now at the latest.'),
  retryInMs: z
    .number()
    .min(0)
    .nullable()
    .optional()
    .describe('The same, counted from when the report is heard: for workers whose clock may be wrong.'),
  log: z
    .array(LogLine)
    .max(10_000)
    .optional()
    .describe('Its beginning is kept: 500 lines, 65536 characters.'),
})

export const ReportRuns = z
  .strictObject({
    runs: z.array(Report).min(1).max(MAX_RUNS_A_REQUEST).refine(eachOnce, ONCE),
  })
  .meta({ id: 'ReportRuns' })

const Receipt = z.object({
  runId: Uuid,
  fence: z.int(),
  recorded: z
    .boolean()
    .describe("False: the run was no longer the worker's, and what was reported counts for nothing."),
  pending: z.boolean().describe('True: the outcome could not be stored yet. Send the report again.'),
})
export const Receipts = z.object({ runs: z.array(Receipt) }).meta({ id: 'Receipts' })

export const ReturnRuns = z
  .strictObject({
    runs: z.array(z.strictObject(Held)).min(1).max(MAX_RUNS_A_REQUEST).refine(eachOnce, ONCE),
  })
  .meta({ id: 'ReturnRuns' })

export const Done = z.object({}).meta({ id: 'Done' })

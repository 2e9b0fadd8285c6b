/** Requests and responses of remote workers; docs/reference/worker-protocol.md explains them. */

import { z } from 'zod'
import { LOG_LEVELS, LOG_STREAMS } from '../../../core/run/log-entry.ts'
import { isOwnLabel, MAX_COMMANDS, OWN_LABEL_RULE, REMOTE_ACTIONS } from '../../../core/run/own-labels.ts'
import { MAX_INTEGER } from '../../../core/values/integer.ts'

import { HandlerName } from '../../../operations/tasks/action-schema.ts'
import { Command } from '../../../operations/tasks/exec-schema.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import type { RemoteLine } from '../../../transport/remote-workers.ts'
import { QueueName } from '../tasks/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** Maximum number of runs per request. */
export const MAX_RUNS_A_REQUEST = 500
/** For how long a claim may wait. */
export const MAX_WAIT_MS = 30_000

const unique = (items: readonly unknown[]) => new Set(items).size === items.length
export const eachOnce = <Item extends { readonly runId: string }>(items: readonly Item[]) =>
  unique(items.map(({ runId }) => runId))
export const ONCE = 'must name each run once'

const Fence = z.int().min(1).max(MAX_INTEGER)
const Lease = { runId: Uuid, fence: Fence.describe('The fence that was returned with the run.') }

const Commands = z.array(Command).max(MAX_COMMANDS).refine(unique, 'must name each command once')

export const RegisterWorker = z
  .strictObject({
    handlers: z
      .array(HandlerName)
      .max(200)
      .refine(unique, 'must name each handler once')
      .optional()
      .describe('Names of the handlers that the worker provides. Required unless it performs actions.'),
    actions: z
      .array(z.enum(REMOTE_ACTIONS))
      .refine(unique, 'must name each action once')
      .optional()
      .describe(
        'Actions that the worker performs. `exec`: programs. `http`: calls (ping, webhook, http, slack) and sleep, of tasks that require at least one of its labels.',
      ),
    commands: Commands.optional().describe('Programs of its machine that the worker runs for `exec`.'),
    name: z.string().min(1).max(200).optional().describe('Display name, such as host name and process id.'),
    version: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('Version of the worker. One that performs actions must be Belfry 0.2.0 or newer.'),
    concurrency: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('Maximum number of concurrent runs. Default 10.'),
    labels: z
      .array(
        z
          .string()
          .min(1)
          .max(100)
          .refine((label) => !isOwnLabel(label), OWN_LABEL_RULE),
      )
      .max(20)
      .optional()
      .describe('Labels that tasks can require.'),
    queues: z
      .array(QueueName)
      .min(1)
      .max(100)
      .nullable()
      .optional()
      .describe('Queues that the worker serves. Default: all queues.'),
  })
  .refine(({ handlers = [], actions = [] }) => handlers.length + actions.length > 0, {
    path: ['handlers'],
    message: 'must name at least one handler, unless actions are given',
  })
  .refine(({ commands = [], actions = [] }) => commands.length === 0 || actions.includes('exec'), {
    path: ['commands'],
    message: 'can be given only with the action exec',
  })
  .meta({ id: 'RegisterWorker' })

export const RegisteredWorker = z
  .object({
    workerId: Uuid,
    token: z
      .string()
      .describe(
        'Send it with every other request as `Authorization: Bearer`. Returned only in this response.',
      ),
    heartbeatMs: z.int().describe('Interval at which the worker must send heartbeats.'),
    leaseMs: z
      .int()
      .describe(
        'Time without a heartbeat after which the worker is declared dead and its runs are reclaimed.',
      ),
    maxLogBytes: z
      .int()
      .describe(
        'Maximum size of the log of an attempt. Each line counts as its size in bytes plus up to 64.',
      ),
  })
  .meta({ id: 'RegisteredWorker' })

export const ClaimRuns = z
  .strictObject({
    requestId: Uuid.describe(
      'Chosen by the worker. A repeated request with the same id returns the same runs.',
    ),
    limit: z.int().min(1).max(MAX_RUNS_A_REQUEST).describe('Maximum number of runs to claim.'),
    waitMs: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .optional()
      .describe('How long to wait if there are no runs. Default 20000.'),
  })
  .meta({ id: 'ClaimRuns' })

const GivenProgram = z
  .object({
    files: z
      .array(
        z.object({
          id: Uuid,
          name: z.string(),
          sha256: z.string(),
          size: z.int(),
          kind: z.string().nullable().describe('What it is, such as `elf` or `script`.'),
          architecture: z.string().nullable().describe('What it was compiled for, such as `x64`.'),
          url: z
            .string()
            .describe(
              'Path and query to download it from this server: valid for 20 minutes and this attempt.',
            ),
        }),
      )
      .describe('The uploaded files that the action names, the program among them.'),
    attemptToken: z
      .string()
      .describe('Authenticates requests about this attempt, and no others, until the attempt ends.'),
    hostId: Uuid.describe('Random id of this attempt.'),
  })
  .nullable()
  .describe('What running a program needs; null for other actions.')

const GivenCall = z
  .object({
    now: z
      .number()
      .describe('Server time in milliseconds since 1970. Send it in whole seconds as `webhook-timestamp`.'),
    signature: z
      .string()
      .nullable()
      .describe('Value of `webhook-signature`; null if the project does not sign.'),
    networks: z
      .array(z.string())
      .nullable()
      .describe('Private networks that the project allows its calls to reach; null for no restriction.'),
    hasSecrets: z
      .boolean()
      .describe('Whether the action contains values of secrets: do not send its body to another origin.'),
  })
  .nullable()
  .describe('What making a call needs; null for programs.')

export const ClaimedRun = z
  .object({
    runId: Uuid,
    taskId: Uuid,
    handler: z.string().describe('Empty for an action.'),
    payload: z.unknown().describe('Payload of the task; null if it has none.'),
    scheduledFor: Stored,
    attempt: z.int().describe('Number of the attempt, starting with 1.'),
    fence: z.int().describe('Send it with every report about this attempt.'),
    timeoutMs: z.int().describe('Timeout of the attempt.'),
    traceparent: z.string().describe('W3C trace context of the attempt.'),
    tracingId: z.string().nullable().describe('The tracing id of the task.'),
    action: z
      .unknown()
      .optional()
      .describe('The action with the values of its secrets, for a worker that performs actions.'),
    program: GivenProgram.optional(),
    call: GivenCall.optional(),
  })
  .meta({ id: 'ClaimedRun' })

export const ClaimedRuns = z.object({ runs: z.array(ClaimedRun) }).meta({ id: 'ClaimedRuns' })

const AttemptProgress = z
  .strictObject({
    fraction: z.number().min(0).max(1).nullable().optional(),
    message: z.string().max(500).nullable().optional(),
  })
  .describe('Progress of the attempt. Only the latest value is kept, and only until the run ends.')

export const BeatWorker = z
  .strictObject({
    runs: z
      .array(z.strictObject({ ...Lease, progress: AttemptProgress.optional() }))
      .max(MAX_RUNS_A_REQUEST)
      .refine(eachOnce, ONCE)
      .optional()
      .describe(
        'Runs that the worker is performing. Once a worker lists runs, a run missing from its heartbeats for the lease time is returned to the queue.',
      ),
    commands: Commands.optional().describe(
      'Programs of its machine that the worker runs for `exec`. Replaces the commands that it reported before.',
    ),
  })
  .nullish()
  .meta({ id: 'BeatWorker' })

export const BeatAnswer = z
  .object({
    cancelled: z.array(Uuid).describe('Runs that a user cancelled: stop them and report.'),
    lost: z
      .array(Uuid)
      .describe('Runs that no longer belong to this worker: stop them. Reports about them are ignored.'),
  })
  .meta({ id: 'BeatAnswer' })

const LogLine = z.strictObject({
  at: Instant,
  stream: z
    .enum(LOG_STREAMS)
    .optional()
    .describe(
      '`stdout` and `stderr` contain output of a program, which need not be whole lines. Default log.',
    ),
  level: z.enum(LOG_LEVELS).nullable().optional().describe('Default info; null for output of a program.'),
  message: z.string().max(100_000),
})
const LogLines = z.array(LogLine).max(10_000)
const FirstLine = z
  .int()
  .min(0)
  .max(2_000_000_000)
  .describe(
    'Number of lines of the attempt that were sent before. Lines that were already stored are ignored.',
  )

export const LogRuns = z
  .strictObject({
    runs: z
      .array(z.strictObject({ ...Lease, first: FirstLine, lines: LogLines.min(1) }))
      .min(1)
      .max(MAX_RUNS_A_REQUEST)
      .refine(eachOnce, ONCE),
  })
  .meta({ id: 'LogRuns' })

export const LoggedRuns = z
  .object({
    lost: z
      .array(Uuid)
      .describe('Runs that no longer belong to this worker: stop them. Their lines were not stored.'),
  })
  .meta({ id: 'LoggedRuns' })

/** Returns lines as they were sent, with defaults for omitted members. */
export const linesFrom = (lines: z.output<typeof LogLines>): RemoteLine[] =>
  lines.map(({ at, stream = 'log', level, message }) => ({
    at,
    stream,
    level: stream === 'log' ? (level ?? 'info') : null,
    message,
  }))

export const Report = z.strictObject({
  ...Lease,
  outcome: z
    .enum(['completed', 'failed', 'timed_out', 'cancelled', 'lost'])
    .describe(
      'lost: the worker was disconnected from Belfry for too long. The attempt counts as if the worker had died.',
    ),
  result: z
    .unknown()
    .optional()
    .describe(
      'Output of a handler that completed, or of an action. At most 65536 characters of JSON are stored; 262144 for actions.',
    ),
  error: z
    .strictObject({
      code: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must consist of lower-case letters, digits and underscores')
        .optional()
        .describe('Default handler_failed.'),
      message: z.string().max(100_000),
      stack: z.string().max(100_000).nullable().optional(),
      detail: z
        .record(z.string().max(100), z.unknown())
        .nullable()
        .optional()
        .describe('More about the failure of an action. At most 8192 characters of JSON are stored.'),
    })
    .optional(),
  retryable: z.boolean().optional().describe('False to end the run without further retries. Default true.'),
  retryAt: Instant.nullable()
    .optional()
    .describe('Time of the next attempt, instead of the backoff of the task; at most 30 days ahead.'),
  retryInMs: z
    .number()
    .min(0)
    .nullable()
    .optional()
    .describe(
      'The same in milliseconds from the receipt of the report, for workers whose clock may be wrong.',
    ),
  log: LogLines.optional().describe('The rest of the log of the attempt, stored with what was sent before.'),
  logFirst: FirstLine.optional(),
})

export const ReportRuns = z
  .strictObject({
    runs: z.array(Report).min(1).max(MAX_RUNS_A_REQUEST).refine(eachOnce, ONCE),
  })
  .meta({ id: 'ReportRuns' })

const Receipt = z.object({
  runId: Uuid,
  fence: z.int(),
  recorded: z.boolean().describe('False if the run no longer belonged to the worker; the report is ignored.'),
  pending: z.boolean().describe('True if the outcome could not be stored yet. Send the report again.'),
})
export const Receipts = z.object({ runs: z.array(Receipt) }).meta({ id: 'Receipts' })

export const ReturnRuns = z
  .strictObject({
    runs: z.array(z.strictObject(Lease)).min(1).max(MAX_RUNS_A_REQUEST).refine(eachOnce, ONCE),
  })
  .meta({ id: 'ReturnRuns' })

export const Done = z.object({}).meta({ id: 'Done' })

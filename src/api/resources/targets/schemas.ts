import { z } from 'zod'
import { MAX_TARGET_CHARACTERS, parseTarget } from '../../../core/target/target-name.ts'
import { LIMIT_REASONS, TARGET_STATES } from '../../../core/target/target-state.ts'
import { MAX_WAITING_COUNTED } from '../../../core/values/counted.ts'
import { formatCount } from '../../../core/words/time.ts'
import { Burst, Rate } from '../../../operations/validation/values.ts'
import { editOf } from '../../http/schemas/edit.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** The name of a target in a path, converted to its stored form. */
export const TargetName = z
  .string()
  .max(8_192)
  .transform((text, context) => {
    const parsed = parseTarget(text)
    if (parsed.ok) return parsed.name
    context.addIssue({ code: 'custom', message: parsed.reason })
    return z.NEVER
  })
  .meta({
    type: 'string',
    maxLength: MAX_TARGET_CHARACTERS,
    example: 'https://api.example.com',
    description:
      'The target, URL-encoded: an origin such as `https://api.example.com`, a mail server such as `smtp://mail.example.com:587`, ' +
      'or a pattern, which is a host (`api.example.com`) or all hosts below one (`*.example.com`).',
  })

const CallError = z.object({ code: z.string(), message: z.string(), at: Stored })

const Circuit = z.object({
  state: z.enum(['closed', 'open']),
  since: Stored.nullable().describe('When the circuit opened.'),
  nextProbeAt: Stored.nullable().describe(
    'Time of the next probe: an attempt of one waiting run that shows whether the target works again.',
  ),
  error: CallError.nullable().describe('The error that opened it.'),
})

const Latency = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number() })
  .describe('Duration of recent calls in milliseconds.')

const seen = {
  state: z.enum(TARGET_STATES).describe('Whether calls start, or what prevents them.'),
  underWay: z.int().describe('Calls in progress.'),
  limit: z.object({
    current: z
      .int()
      .nullable()
      .describe('Maximum number of calls in progress now; null if no node has called the target recently.'),
    perNode: z.int().describe('Maximum number of calls in progress per node.'),
    reason: z
      .enum(LIMIT_REASONS)
      .describe(
        'Reason for the current limit: `default`; `setting`, set by a user; `failures` or `latency`, lowered for these reasons; `ramping`, growing after the circuit closed.',
      ),
    since: Stored.nullable().describe('Since when it is lower than its maximum.'),
    pattern: z.string().nullable().describe('The target or pattern whose setting applies.'),
  }),
  latency: Latency.nullable(),
  calls: z.int().describe('Calls that ended in the last minute.'),
  failures: z.int().describe('How many of them failed.'),
  circuit: Circuit,
  lastError: CallError.nullable(),
}

const TargetNode = z.object({
  nodeId: z.string(),
  name: z.string(),
  reportedAt: Stored,
  state: seen.state,
  underWay: seen.underWay,
  limit: z.object({ current: z.int(), reason: z.enum(LIMIT_REASONS), since: Stored.nullable() }),
  latency: seen.latency,
  calls: seen.calls,
  failures: seen.failures,
  circuit: Circuit,
  lastError: seen.lastError,
})

export const Target = z
  .object({
    target: z.string(),
    isPattern: z.boolean().describe('True for a pattern that has settings; it has no calls itself.'),
    ...seen,
    waiting: z
      .int()
      .describe(`Runs that are waiting for this target, counted up to ${formatCount(MAX_WAITING_COUNTED)}.`),
    oldest: Stored.nullable().describe('Due time of the run that has been waiting longest.'),
    rate: z.object({
      limit: z
        .string()
        .nullable()
        .describe('Maximum number of calls that start per second, minute or hour, over all nodes.'),
      burst: z
        .int()
        .nullable()
        .describe('Maximum burst: how many of them may start at once after an idle period.'),
      pattern: z.string().nullable().describe('The target or pattern whose setting applies.'),
    }),
    isPaused: z.boolean(),
    pausedAt: Stored.nullable(),
    pauseReason: z.string().nullable(),
    pausedBy: z.string().nullable().describe('The target or pattern that is paused.'),
    nodes: z.array(TargetNode).describe('What each node reports. In lists it is empty.'),
  })
  .meta({ id: 'Target' })
export type Target = z.output<typeof Target>

export const EditTarget = editOf({
  limit: z
    .int()
    .min(1)
    .max(4_096)
    .nullable()
    .optional()
    .describe(
      'Maximum number of calls in progress per node. Null restores the default: 128, and 5 for mail servers.',
    ),
  rate: Rate.nullable()
    .optional()
    .describe(
      'Maximum number of calls that start, such as `10/s`, `100/m` or `1000/h`, over all nodes. Null removes it.',
    ),
  burst: Burst.nullable()
    .optional()
    .describe(
      'Maximum burst: how many calls may start at once after an idle period. Null: what the rate allows in 100 ms, at least 1.',
    ),
}).meta({ id: 'EditTarget' })

export const PauseTarget = z
  .strictObject({
    reason: z.string().min(1).max(500).optional().describe('Reason, shown with the target.'),
  })
  .nullish()
  .meta({ id: 'PauseTarget' })

export const ReadTargets = z.strictObject({
  q: z.string().min(1).max(100).optional().describe('Part of the name, case-insensitive.'),
  state: z.enum(TARGET_STATES).optional().describe('Only targets in this state.'),
  limit: Limit,
  cursor: Cursor,
})

export const TargetList = z
  .object({ items: z.array(Target), nextCursor: z.string().nullable() })
  .meta({ id: 'TargetList' })

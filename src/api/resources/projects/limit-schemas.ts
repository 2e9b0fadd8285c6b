/** Limits of projects and keys, in responses and requests. */

import { z } from 'zod'
import { MAX_REQUESTS_PER_SECOND } from '../../../core/limits/rate-policy.ts'
import { MIN_INTERVAL_MS } from '../../../core/schedule/validate-schedule.ts'
import { MAX_DURATION_MS } from '../../../core/values/duration.ts'
import { MAX_INTEGER } from '../../../core/values/integer.ts'
import { parseRate } from '../../../core/values/rate.ts'
import { durationBetween } from '../../../operations/validation/values.ts'

/** The maximum rate of a gate. */
const MAX_RUNS_PER_SECOND = 1_000
const MAX_RUNNING = 1_000_000
const MAX_TASKS = 1_000_000_000
const MAX_STORED_BYTES = Number.MAX_SAFE_INTEGER

const Period = durationBetween(MIN_INTERVAL_MS, MAX_DURATION_MS, 'from 10ms to 3650d')

const rate = (maxPerSecond: number) =>
  z
    .string()
    .superRefine((text, context) => {
      const parsed = parseRate(text, maxPerSecond)
      if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
    })
    .meta({ example: '100/s', pattern: '^[1-9]\\d{0,6}/[smh]$' })

const DOCS = {
  minPeriod: 'Minimum time between two occurrences of a task.',
  maxAhead: 'Maximum time until the next occurrence.',
  requestRate:
    'Maximum number of API requests per second, minute or hour, over all nodes, such as `100/s`. Up to this number can arrive in one burst.',
  maxPayloadBytes: 'Maximum size of the definition of one task, in bytes.',
  maxTasks: 'Maximum number of tasks that have not finished and are neither cancelled nor deleted.',
  maxStoredBytes: 'Maximum size of the definitions of these tasks and of all files together, in bytes.',
  runRate:
    'Maximum number of runs that start per second, minute or hour, over all workers, such as `10/s`. The maximum burst is what this rate allows in 100 ms, at least 1.',
  maxRunning: 'Maximum number of runs in progress at once, over all workers.',
}

/** The limits that a key can have. */
const keyFields = {
  minPeriod: Period.nullable(),
  maxAhead: Period.nullable(),
  requestRate: rate(MAX_REQUESTS_PER_SECOND).nullable(),
  maxPayloadBytes: z.int().min(1).max(MAX_INTEGER).nullable(),
}

const projectFields = {
  ...keyFields,
  maxTasks: z.int().min(0).max(MAX_TASKS).nullable(),
  maxStoredBytes: z.int().min(0).max(MAX_STORED_BYTES).nullable(),
  runRate: rate(MAX_RUNS_PER_SECOND).nullable(),
  maxRunning: z.int().min(1).max(MAX_RUNNING).nullable(),
}

type Fields = Readonly<Record<string, z.ZodType>>

/** Returns the schema of limits to set: each may be omitted, and null removes a limit. */
const toSet = <F extends Fields>(fields: F) =>
  z
    .strictObject(
      Object.fromEntries(
        Object.entries(fields).map(([name, type]) => [
          name,
          type.optional().describe(`${DOCS[name as keyof typeof DOCS]} Null removes the limit.`),
        ]),
      ) as { [K in keyof F]: z.ZodOptional<F[K]> },
    )
    .refine((limits) => Object.keys(limits).length > 0, 'must name at least one limit to change')

/** Limits in responses; null if there is no limit. */
const shown = {
  minPeriod: z.string().nullable().describe(`${DOCS.minPeriod} Null for no limit.`),
  maxAhead: z.string().nullable().describe(`${DOCS.maxAhead} Null for no limit.`),
  requestRate: z.string().nullable().describe(`${DOCS.requestRate} Null for no limit.`),
  maxPayloadBytes: z.int().nullable().describe(`${DOCS.maxPayloadBytes} Null for no limit.`),
}

export const KeyLimits = z.object(shown).meta({ id: 'KeyLimits' })
export const EditKeyLimits = toSet(keyFields).meta({ id: 'EditKeyLimits' })

export const ProjectLimits = z
  .object({
    ...shown,
    minPeriod: z.string().describe(DOCS.minPeriod),
    maxTasks: z.int().nullable().describe(`${DOCS.maxTasks} Null for no limit.`),
    maxStoredBytes: z.int().nullable().describe(`${DOCS.maxStoredBytes} Null for no limit.`),
    runRate: z.string().nullable().describe(`${DOCS.runRate} Null for no limit.`),
    maxRunning: z.int().nullable().describe(`${DOCS.maxRunning} Null for no limit.`),
  })
  .meta({ id: 'ProjectLimits' })
export const EditProjectLimits = toSet(projectFields).meta({ id: 'EditProjectLimits' })

export const ProjectUse = z
  .object({
    tasks: z.int().nullable().describe('Tasks that count towards `maxTasks`; null without that limit.'),
    storedBytes: z
      .int()
      .nullable()
      .describe('Size of their definitions and of all files, in bytes; null without `maxStoredBytes`.'),
    requests: z
      .int()
      .nullable()
      .describe('Requests used in the current `requestRate` window; null without that limit.'),
    running: z.int().nullable().describe('Runs in progress; null without `maxRunning`.'),
  })
  .describe('What is used of the limits that are set, counted within the last seconds.')
  .meta({ id: 'ProjectUse' })

/**
 * From what a user asked for to a complete definition and its first occurrence. What cannot be honoured
 * is refused here, with the field that is to blame; nothing has been stored yet.
 */

import type { CreateTask, EditTask } from '../../api/resources/tasks/schemas.ts'
import type { Action } from '../../core/action/action.ts'
import { unmaskedAction } from '../../core/action/unmasked-action.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import { delayMs, firstOccurrence, jitterOf, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { type Schedule, type Trigger, usesSeed } from '../../core/schedule/schedule.ts'
import { parseWords, type WordsOptions } from '../../core/schedule/words/parse-words.ts'
import { spellZone } from '../../core/schedule/zone-names.ts'
import { durationMs, instantMs, planOf, TASK_DEFAULTS, type TaskDefinition } from '../../core/task/task.ts'

export interface DefineOptions {
  /** Epoch milliseconds, whole. */
  readonly now: number
  readonly traceparent: string | null
  readonly projectId: string
  /** Its key, or its id: what is drawn by chance is drawn from here, so that it can be told beforehand. */
  readonly seed: string
}

export function defineTask(
  input: CreateTask,
  { now, traceparent, projectId, seed }: DefineOptions,
): TaskDefinition {
  const startAt = input.startAt ?? null
  const schedule = givenSchedule(input.schedule, now) ?? { type: 'once', at: startAt ?? iso(now) }
  return withinBounds(
    {
      action: withStoredSecrets(input.action as Action, null),
      schedule,
      startAt,
      endAt: input.endAt ?? null,
      maxRuns: input.maxRuns ?? null,
      anchorAt: startAt ?? iso(now),
      seed: usesSeed(schedule) || input.jitter != null ? seed : null,
      jitter: input.jitter ?? null,
      overlap: input.overlap ?? TASK_DEFAULTS.overlap,
      misfire: { ...TASK_DEFAULTS.misfire, ...defined(input.misfire) },
      retry: { ...TASK_DEFAULTS.retry, ...defined(input.retry) },
      timeout: input.timeout ?? TASK_DEFAULTS.timeout,
      queueTimeout: input.queueTimeout ?? TASK_DEFAULTS.queueTimeout,
      onWorkerLoss: input.onWorkerLoss ?? TASK_DEFAULTS.onWorkerLoss,
      queue: input.queue ?? TASK_DEFAULTS.queue,
      priority: input.priority ?? TASK_DEFAULTS.priority,
      labels: [...new Set(input.labels ?? TASK_DEFAULTS.labels)],
      concurrencyKey: input.concurrencyKey ?? TASK_DEFAULTS.concurrencyKey,
      concurrencyLimit: input.concurrencyLimit ?? TASK_DEFAULTS.concurrencyLimit,
      metadata: input.metadata ?? {},
      projectId,
      tracingId: input.tracingId ?? TASK_DEFAULTS.tracingId,
      traceparent,
    },
    now,
  )
}

/** Changes what the edit names; objects of settings are merged member by member, everything else replaced. */
export function redefineTask(
  before: TaskDefinition,
  edit: EditTask,
  { now, seed }: Pick<DefineOptions, 'now' | 'seed'>,
): TaskDefinition {
  const startAt = edit.startAt === undefined ? before.startAt : edit.startAt
  const schedule = givenSchedule(edit.schedule, now) ?? before.schedule
  const after: TaskDefinition = {
    ...before,
    action:
      edit.action === undefined ? before.action : withStoredSecrets(edit.action as Action, before.action),
    schedule,
    startAt,
    endAt: edit.endAt === undefined ? before.endAt : edit.endAt,
    maxRuns: edit.maxRuns === undefined ? before.maxRuns : edit.maxRuns,
    // A grid keeps its phase unless the edit gives it a new start.
    anchorAt: edit.startAt ?? before.anchorAt,
    // What was drawn once stays, also when the key that it was drawn from changes.
    seed: before.seed ?? (usesSeed(schedule) || edit.jitter != null ? seed : null),
    jitter: edit.jitter === undefined ? before.jitter : edit.jitter,
    overlap: edit.overlap ?? before.overlap,
    misfire: { ...before.misfire, ...defined(edit.misfire) },
    retry: { ...before.retry, ...defined(edit.retry) },
    timeout: edit.timeout ?? before.timeout,
    queueTimeout: edit.queueTimeout === undefined ? before.queueTimeout : edit.queueTimeout,
    onWorkerLoss: edit.onWorkerLoss ?? before.onWorkerLoss,
    queue: edit.queue ?? before.queue,
    priority: edit.priority ?? before.priority,
    labels: edit.labels === undefined ? before.labels : [...new Set(edit.labels)],
    concurrencyKey: edit.concurrencyKey === undefined ? before.concurrencyKey : edit.concurrencyKey,
    concurrencyLimit: edit.concurrencyLimit ?? before.concurrencyLimit,
    metadata: edit.metadata ?? before.metadata,
    tracingId: edit.tracingId === undefined ? before.tracingId : edit.tracingId,
  }
  const isWritten = schedule.type === 'dates' || schedule.type === 'several'
  if (
    edit.schedule !== undefined &&
    isWritten &&
    nextOccurrence({ ...planOf(after), endAt: null }, now) === null
  )
    throw invalid('/schedule', 'has no future occurrence')
  return withinBounds(after, now)
}

/** Whoever sends a mask back keeps what is stored. */
function withStoredSecrets(given: Action, stored: Action | null): Action {
  const { value, problems } = unmaskedAction(given, stored)
  if (problems.length > 0) throw invalidInput(problems)
  return value
}

/** A schedule as it is stored, from what was checked when the request came in. */
export function givenSchedule(given: CreateTask['schedule'], now: number): Schedule | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'string') return readWords('/schedule', given, { now })
  if (Array.isArray(given)) {
    const triggers = (given as Trigger[]).map(withProperZones)
    const [only] = triggers
    return triggers.length === 1 && only !== undefined ? only : { type: 'several', triggers }
  }
  if (given.type !== 'words') return withProperZones(given as Schedule)
  return readWords('/schedule/words', given.words, { now, timezone: spellZone(given.timezone) })
}

function readWords(pointer: string, words: string, options: WordsOptions): Schedule {
  const parsed = parseWords(words, options)
  if (!parsed.ok) throw invalid(pointer, parsed.reason)
  return parsed.schedule
}

/** Zones are stored in their proper spelling, however they were typed. */
function withProperZones<T extends Schedule>(schedule: T): T {
  if (schedule.type === 'several') return { ...schedule, triggers: schedule.triggers.map(withProperZones) }
  return 'timezone' in schedule ? { ...schedule, timezone: spellZone(schedule.timezone) } : schedule
}

/** The row a new task begins with; null when it only runs when triggered. */
export function firstRow(
  definition: TaskDefinition,
  now: number,
): { at: number; delayMs: number | null; jitterMs: number | null } | null {
  const plan = planOf(definition)
  const { schedule } = definition
  if (schedule.type === 'manual') return null
  const from = Math.max(now, plan.startAt ?? now)
  // A grid begins at its startAt; without one, "every 10s" means in ten seconds, not at once.
  const isAfterNow = schedule.type !== 'once' && schedule.type !== 'delay' && plan.startAt === null
  const at = isAfterNow ? nextOccurrence(plan, now) : firstOccurrence(plan, from)
  if (at === null)
    throw plan.endAt === null
      ? invalid(
          '/schedule',
          `has no ${plan.startAt === null ? 'future occurrence' : 'occurrence after startAt'}`,
        )
      : invalid('/endAt', 'leaves no occurrence: the schedule has none between now (or startAt) and endAt')
  if (schedule.type === 'once') refuseLongPast(definition, at, now)
  return {
    at: schedule.type === 'delay' ? Math.max(at, now) : at,
    delayMs: schedule.type === 'delay' ? delayMs(schedule) : null,
    jitterMs: jitterOf(plan, at) || null,
  }
}

/** The chain's interval, for rows whose end writes the next one. */
export function chainDelay(definition: TaskDefinition): number | null {
  return definition.schedule.type === 'delay' ? delayMs(definition.schedule) : null
}

export function withinBounds(definition: TaskDefinition, now: number): TaskDefinition {
  const { startAt, endAt } = definition
  if (endAt !== null && instantMs(endAt) <= now) throw invalid('/endAt', 'is in the past')
  if (startAt !== null && endAt !== null && instantMs(endAt) < instantMs(startAt))
    throw invalid('/endAt', 'is before startAt')
  refuseShrinking(definition.retry)
  refuseJitter(definition)
  return definition
}

/** Only instants that are known beforehand can be put off. */
function refuseJitter({ jitter, schedule: { type } }: TaskDefinition): void {
  if (jitter === null || durationMs(jitter) === 0 || (type !== 'delay' && type !== 'manual')) return
  const why = type === 'delay' ? 'counts from the end of each run' : 'has no instants'
  throw invalid(
    '/jitter',
    `is ${jitter}, but a schedule of type ${type} ${why}; omit jitter or set it to null`,
  )
}

/** Waits between attempts grow, or stay as they are. */
export function refuseShrinking(retry: TaskDefinition['retry']): void {
  if (durationMs(retry.max) >= durationMs(retry.initial)) return
  throw invalid('/retry/max', `is ${retry.max}, less than retry.initial (${retry.initial})`)
}

function refuseLongPast(definition: TaskDefinition, at: number, now: number): void {
  const window = definition.misfire.window
  if (at >= now - durationMs(window)) return
  const pointer =
    definition.startAt !== null && instantMs(definition.startAt) === at ? '/startAt' : '/schedule/at'
  throw invalid(
    pointer,
    `is further in the past than the misfire window (${window}); use a later instant or a longer misfire.window`,
  )
}

const iso = (ms: number) => new Date(ms).toISOString()

const invalid = (pointer: string, detail: string) =>
  new Refusal('invalid_input', `${pointer} ${detail}.`, { problems: [{ pointer, detail }] })

/** Without members that are present but undefined, which would undo a default. */
export function defined<T extends object>(
  value: T | undefined,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

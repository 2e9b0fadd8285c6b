/**
 * Turns a user's input into a complete definition and its first occurrence. Input that Belfry cannot honour is rejected here,
 * with the field at fault, before anything is stored.
 */

import type { Action } from '../../core/action/action.ts'
import { unmaskedAction } from '../../core/action/unmasked-action.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import { delayMs, firstOccurrence, jitterOf, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { type Schedule, type Trigger, usesSeed } from '../../core/schedule/schedule.ts'
import { parseWords, type WordsOptions } from '../../core/schedule/words/parse-words.ts'
import { spellZone } from '../../core/schedule/zone-names.ts'
import { secretNamesOf } from '../../core/secret/secret-reference.ts'
import { durationMs, instantMs, planOf, type TaskDefinition } from '../../core/task/task.ts'
import { definedBy, editedBy, type TaskEdit, type TaskInput } from '../../core/task/task-input.ts'
import { utc } from '../../core/values/utc.ts'

export interface DefineOptions {
  /** Epoch milliseconds, whole. */
  readonly now: number
  readonly traceparent: string | null
  readonly projectId: string
  /** The task's key, or its id: random choices are derived from it, so that they can be predicted. */
  readonly seed: string
}

export function defineTask(
  input: TaskInput,
  { now, traceparent, projectId, seed }: DefineOptions,
): TaskDefinition {
  const startAt = input.startAt ?? utc(now)
  const schedule = givenSchedule(input.schedule, now) ?? { type: 'once', at: startAt }
  const action = withStoredSecrets(input.action, null)
  const definition = definedBy(input, {
    action,
    secrets: secretNamesOf(action),
    schedule,
    anchorAt: startAt,
    seed: usesSeed(schedule) || input.jitter != null ? seed : null,
    projectId,
    traceparent,
  })
  return withinBounds(definition, now)
}

/** Applies the fields that the edit names. */
export function redefineTask(
  before: TaskDefinition,
  edit: TaskEdit,
  { now, seed }: Pick<DefineOptions, 'now' | 'seed'>,
): TaskDefinition {
  const schedule = givenSchedule(edit.schedule, now) ?? before.schedule
  const action = edit.action === undefined ? before.action : withStoredSecrets(edit.action, before.action)
  const after = editedBy(before, edit, {
    action,
    secrets: edit.action === undefined ? before.secrets : secretNamesOf(action),
    schedule,
    // The phase of a fixed interval is kept unless the edit sets a new start.
    anchorAt: edit.startAt ?? before.anchorAt,
    // An existing seed is kept, even if the key that it was derived from changes.
    seed: before.seed ?? (usesSeed(schedule) || edit.jitter != null ? seed : null),
  })
  const isWritten = schedule.type === 'dates' || schedule.type === 'several'
  if (
    edit.schedule !== undefined &&
    isWritten &&
    nextOccurrence({ ...planOf(after), endAt: null }, now) === null
  )
    throw invalid('/schedule', 'has no future occurrence')
  return withinBounds(after, now)
}

/** Replaces masks in the given action by the stored secrets. */
function withStoredSecrets(given: Action, stored: Action | null): Action {
  const { value, problems } = unmaskedAction(given, stored)
  if (problems.length > 0) throw invalidInput(problems)
  return value
}

/** Returns a schedule in its stored form, from validated input. */
export function givenSchedule(given: TaskInput['schedule'], now: number): Schedule | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'string') return readWords('/schedule', given, { now })
  if (isList(given)) {
    const triggers = (given as readonly Trigger[]).map(withProperZones)
    const [only] = triggers
    return triggers.length === 1 && only !== undefined ? only : { type: 'several', triggers }
  }
  if (given.type !== 'words') return withProperZones(given)
  return readWords('/schedule/words', given.words, { now, timezone: spellZone(given.timezone) })
}

/** Array.isArray, typed for readonly lists. */
const isList = (given: object): given is readonly unknown[] => Array.isArray(given)

function readWords(pointer: string, words: string, options: WordsOptions): Schedule {
  const parsed = parseWords(words, options)
  if (!parsed.ok) throw invalid(pointer, parsed.reason)
  return parsed.schedule
}

/** Converts the names of zones to their canonical spelling. */
function withProperZones<T extends Schedule>(schedule: T): T {
  if (schedule.type === 'several') return { ...schedule, triggers: schedule.triggers.map(withProperZones) }
  return 'timezone' in schedule ? { ...schedule, timezone: spellZone(schedule.timezone) } : schedule
}

/** Returns the first row of a new task; null if the task only runs when triggered. */
export function firstRow(
  definition: TaskDefinition,
  now: number,
): { at: number; delayMs: number | null; jitterMs: number | null } | null {
  const plan = planOf(definition)
  const { schedule } = definition
  if (schedule.type === 'manual') return null
  const from = Math.max(now, plan.startAt ?? now)
  // A fixed interval begins at startAt; without one, "every 10s" means in ten seconds, not at once.
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
    at,
    delayMs: schedule.type === 'delay' ? delayMs(schedule) : null,
    jitterMs: jitterOf(plan, at) || null,
  }
}

/** Returns the interval of a chain, for rows at whose end the next row is written. */
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

/** Rejects jitter for schedules whose instants are not known in advance. */
function refuseJitter({ jitter, schedule: { type } }: TaskDefinition): void {
  if (jitter === null || durationMs(jitter) === 0 || (type !== 'delay' && type !== 'manual')) return
  const why = type === 'delay' ? 'counts from the end of each run' : 'has no instants'
  throw invalid(
    '/jitter',
    `is ${jitter}, but a schedule of type ${type} ${why}; omit jitter or set it to null`,
  )
}

/** Rejects a retry policy whose longest wait is shorter than its first. */
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

const invalid = (pointer: string, detail: string) =>
  new Refusal('invalid_input', `${pointer} ${detail}.`, { problems: [{ pointer, detail }] })

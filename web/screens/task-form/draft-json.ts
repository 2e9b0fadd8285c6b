/**
 * A draft as JSON that somebody edits, and back. What fits the fields goes into them; whatever does not, also what
 * is wrong, is carried as it is, so that the API gets exactly what was written and says itself what it thinks of it.
 */
import { changedNumber } from '../../../src/core/values/json/changed-number.ts'
import type { GivenSchedule, TaskInput } from '../../api/wire.ts'
import { type Draft, metadataText } from './draft.ts'
import { actionFields } from './draft-action.ts'
import { fullInput } from './draft-input.ts'
import { readable, scheduleFields } from './draft-schedule.ts'

type Fields = Readonly<Record<string, unknown>>

/** What was written, on top of what there was; or why it cannot be read. */
export type ReadJson =
  | { readonly ok: true; readonly draft: Draft }
  | { readonly ok: false; readonly reason: string }

export function draftOfJson(text: string, before: Draft): ReadJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { ok: false, reason: `This is not JSON: ${(error as Error).message}` }
  }
  const changed = changedNumber(text)
  if (changed !== null) return { ok: false, reason: `This cannot be kept as it is: ${changed}` }
  if (!isObject(value)) return { ok: false, reason: 'This must be an object: { "action": …, "schedule": … }' }
  return { ok: true, draft: draftOfFields(value, { ...before, raw: {} }) }
}

function draftOfFields(fields: Fields, before: Draft): Draft {
  let draft = before
  for (const [name, value] of Object.entries(fields)) draft = { ...draft, ...shown(name, value) }
  const said = fullInput(draft)
  const raw = Object.entries(fields).filter(
    ([name, value]) => !isSaid(name, value, said[name as keyof TaskInput]),
  )
  return { ...draft, raw: Object.fromEntries(raw) }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): string => (typeof value === 'number' ? String(value) : '')
const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** The fields of the form that show a field of a task. A value of another kind leaves them empty. */
const SHOWN: Readonly<Record<string, (value: unknown) => Partial<Draft>>> = {
  name: (value) => ({ name: text(value) }),
  key: (value) => ({ key: text(value) }),
  owner: (value) => ({ owner: text(value) }),
  tags: (value) => ({ tags: list(value) }),
  action: (value) => actionFields(value as Parameters<typeof actionFields>[0]),
  schedule: (value) =>
    typeof value === 'string' ? { when: 'words', words: value } : scheduleFields(value as GivenSchedule),
  startAt: (value) => ({ startAt: readable(value) }),
  endAt: (value) => ({ endAt: readable(value) }),
  maxRuns: (value) => ({ maxRuns: number(value) }),
  jitter: (value) => ({ jitter: text(value) }),
  overlap: (value) => ({ overlap: value as Draft['overlap'] }),
  misfire: (value) => {
    const { policy, window, cap, rate } = value as Fields
    return {
      ...(policy === undefined ? {} : { misfirePolicy: policy as Draft['misfirePolicy'] }),
      ...(window === undefined ? {} : { misfireWindow: text(window) }),
      ...(cap === undefined ? {} : { misfireCap: number(cap) }),
      ...(rate === undefined ? {} : { misfireRate: number(rate) }),
    }
  },
  retry: (value) => {
    const { limit, initial, max } = value as Fields
    return {
      ...(limit === undefined ? {} : { retryLimit: number(limit) }),
      ...(initial === undefined ? {} : { retryInitial: text(initial) }),
      ...(max === undefined ? {} : { retryMax: text(max) }),
    }
  },
  timeout: (value) => ({ timeout: text(value) }),
  queueTimeout: (value) => ({ queueTimeout: text(value) }),
  onWorkerLoss: (value) => ({ onWorkerLoss: value as Draft['onWorkerLoss'] }),
  queue: (value) => ({ queue: text(value) }),
  priority: (value) => ({ priority: number(value) }),
  labels: (value) => ({ labels: list(value) }),
  concurrencyKey: (value) => ({ concurrencyKey: text(value) }),
  concurrencyLimit: (value) => ({ concurrencyLimit: number(value) }),
  metadata: (value) => ({ metadata: metadataText(value as object) }),
  tracingId: (value) => ({ tracingId: text(value) }),
}

function shown(name: string, value: unknown): Partial<Draft> {
  try {
    return SHOWN[name]?.(value) ?? {}
  } catch {
    // A value of a shape that no field is made for.
    return {}
  }
}

/** Objects of which a part may be given; the rest stays as it is. */
const PARTIAL = ['retry', 'misfire']
const INSTANTS = ['startAt', 'endAt']

/** Whether the fields say the same, however it is written. */
function isSaid(name: string, written: unknown, said: unknown): boolean {
  if (INSTANTS.includes(name) && typeof written === 'string' && typeof said === 'string')
    return Date.parse(written) === Date.parse(said)
  if (PARTIAL.includes(name) && isObject(written) && isObject(said))
    return Object.entries(written).every(([member, value]) => sorted(value) === sorted(said[member]))
  return sorted(written) === sorted(said)
}

/** As JSON, whatever the order of members. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  )
}

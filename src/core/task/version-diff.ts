/** The differences between two versions of a task, field by field, for people to read. */

/** A field that differs. */
export interface FieldChange {
  /** Path of the field, such as `schedule.expression` or `action.headers.x-key`. */
  readonly field: string
  /** Null if the field was absent. */
  readonly before: unknown
  readonly after: unknown
  /** Whether a value was too long to be shown as a whole, and is the beginning of its JSON. */
  readonly isCut: boolean
}

/** Longer values, measured as JSON, are cut. */
const MAX_VALUE_CHARACTERS = 500
/** Maximum number of changes to report, because bodies and metadata may have any number of members. */
export const MAX_CHANGES = 100

export function changesBetween(before: object, after: object): FieldChange[] {
  const changes: FieldChange[] = []
  compare([], before, after, changes)
  return changes
}

function compare(path: readonly string[], before: unknown, after: unknown, changes: FieldChange[]): void {
  if (changes.length === MAX_CHANGES || isSame(before, after)) return
  if (!isRecord(before) || !isRecord(after) || isOtherVariant(before, after)) {
    changes.push({
      field: path.join('.'),
      before: shown(before),
      after: shown(after),
      isCut: isLong(before) || isLong(after),
    })
    return
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    compare([...path, name], before[name], after[name], changes)
}

/** An action or a schedule of another type is compared as a whole, because its members have no counterpart. */
const isOtherVariant = (before: Record<string, unknown>, after: Record<string, unknown>) =>
  before['type'] !== after['type']

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function isSame(a: unknown, b: unknown): boolean {
  if (isRecord(a) && isRecord(b)) {
    const names = Object.keys(a)
    return (
      names.length === Object.keys(b).length && names.every((name) => name in b && isSame(a[name], b[name]))
    )
  }
  return JSON.stringify(a) === JSON.stringify(b)
}

const isLong = (value: unknown) => (JSON.stringify(value) ?? '').length > MAX_VALUE_CHARACTERS

const shown = (value: unknown): unknown =>
  isLong(value) ? JSON.stringify(value).slice(0, MAX_VALUE_CHARACTERS) : (value ?? null)

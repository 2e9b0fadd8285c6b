/** What two versions of a task differ in, field by field, for people to read. */

/** One field that an edit has changed. */
export interface FieldChange {
  /** Where it stands, such as `schedule.expression` or `action.headers.x-key`. */
  readonly field: string
  /** Null where there was none. */
  readonly before: unknown
  readonly after: unknown
  /** A value was too long to be shown whole: it is the beginning of its JSON. */
  readonly isCut: boolean
}

/** A value longer than this as JSON is cut. */
const MAX_VALUE_CHARACTERS = 500
/** Bodies and metadata may hold as many members as they like; so many changes are told. */
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

/** An action or schedule of another type is another thing, not the same with other members. */
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

/** The members in which two states of the same object differ. */

export interface Difference {
  /** For example `retry.limit`. */
  readonly path: string
  readonly before: unknown
  readonly after: unknown
}

export function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (isSame(before, after)) return []
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) =>
    differences(before[name], after[name], path === '' ? name : `${path}.${name}`),
  )
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

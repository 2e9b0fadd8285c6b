/** What only reading a run by its id answers: lists and streams leave it out. */
const ONLY_BY_ID = ['action', 'attempts', 'backfillId', 'override', 'progress', 'retriedAs']

/** A run that was read by its id, as lists and streams show it. */
export function asInLists(run: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(run).filter(([field]) => !ONLY_BY_ID.includes(field)))
}

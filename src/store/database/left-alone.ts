/** How the statement of a batch reports what it changed: null if it changed every row, which is almost always the case. */

/**
 * Returns the runs of a batch that were not changed. A statement returns the ids it has changed, or null if it changed all of
 * them: otherwise each id would be transferred twice.
 */
export function leftAlone(
  asked: readonly { readonly runId: string }[],
  changed: readonly string[] | null,
): string[] {
  if (changed === null) return []
  const known = new Set(changed)
  return asked.flatMap(({ runId }) => (known.has(runId) ? [] : runId))
}

/** How a batch tells what it did: nothing when it did all that was asked, which is almost always. */

/**
 * The runs of a batch that were left alone. A statement answers the ones it has changed, or null when that is all of
 * them: their ids would otherwise travel twice, once to be changed and once to be told from the others.
 */
export function leftAlone(
  asked: readonly { readonly runId: string }[],
  changed: readonly string[] | null,
): string[] {
  if (changed === null) return []
  const known = new Set(changed)
  return asked.flatMap(({ runId }) => (known.has(runId) ? [] : runId))
}

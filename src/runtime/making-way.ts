/**
 * Decides which items of leased work make way for items that wait, so that a project gets more slots only while others do not
 * need them, and the items of a project take turns.
 */

/** An item that has a slot. */
export interface Placed {
  readonly projectId: string
  /** When it got its slot, on the monotonic clock. */
  readonly since: number
}

/**
 * Returns the items that make way, at most one for each that waits. An item that waits gets a slot of the project that has most,
 * if that is more than its own project has, and otherwise one of its own project; always the one that was taken first. Items
 * that got their slot after `before` keep it. Any other exchange would be reversed by the next one.
 */
export function makingWay<Item extends Placed>({
  placed,
  waiting,
  before,
}: {
  /** The item that got its slot first comes first. */
  placed: readonly Item[]
  waiting: readonly { readonly projectId: string }[]
  before: number
}): Item[] {
  const counts = new Map<string, number>()
  const countOf = ({ projectId }: { readonly projectId: string }) => counts.get(projectId) ?? 0
  const add = (item: { readonly projectId: string }, n: number) =>
    counts.set(item.projectId, countOf(item) + n)
  for (const item of placed) add(item, 1)

  const staying = new Set(placed.filter(({ since }) => since <= before))
  const leaving: Item[] = []
  for (const one of waiting) {
    let next: Item | undefined
    for (const item of staying) if (!next || countOf(item) > countOf(next)) next = item
    if (next && countOf(next) <= countOf(one))
      next = [...staying].find(({ projectId }) => projectId === one.projectId)
    if (!next) continue
    staying.delete(next)
    leaving.push(next)
    add(next, -1)
    add(one, 1)
  }
  return leaving
}

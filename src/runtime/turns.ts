/** After working so long on end, everything else that the process does has its turn. */
const TURN_MS = 3

/** Does something with each of many items, in order, without keeping the process from anything else meanwhile. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  let begunAt = performance.now()
  for (const [index, item] of items.entries()) {
    results.push(work(item, index))
    if (performance.now() - begunAt < TURN_MS) continue
    await new Promise(setImmediate)
    begunAt = performance.now()
  }
  return results
}

/** Splits items, in order, into parts of at most `most` bytes; an item that is longer forms a separate part. */
export function byBytes<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): T[][] {
  const parts: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    bytes += bytesOf(item)
    if (bytes > most) {
      parts.push([])
      bytes = bytesOf(item)
    }
    parts.at(-1)?.push(item)
  }
  return parts
}

/** Returns how many of the first items fit into `most` bytes; at least one. */
export function countWithin<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): number {
  let bytes = 0
  const beyond = items.findIndex((item, i) => {
    bytes += bytesOf(item)
    return i > 0 && bytes > most
  })
  return beyond < 0 ? items.length : beyond
}

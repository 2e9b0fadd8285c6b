/** Divides what is to be read or written into parts of at most so many bytes, in order; what is longer alone is a part alone. */
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

/** How many of the first make up no more than so many bytes; one at least. */
export function countWithin<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): number {
  let bytes = 0
  const beyond = items.findIndex((item, i) => {
    bytes += bytesOf(item)
    return i > 0 && bytes > most
  })
  return beyond < 0 ? items.length : beyond
}

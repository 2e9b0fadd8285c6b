/** The candidate that takes the fewest edits to reach, for "did you mean". */
export function nearest(word: string, candidates: readonly string[]): string {
  const ranked = candidates.map((candidate) => ({ candidate, distance: distance(word, candidate) }))
  ranked.sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate ?? ''
}

/** The candidate that was probably meant; none when the word is like none of them, and a guess would only mislead. */
export function likely(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const isPart = (candidate: string) => {
    const other = candidate.toLowerCase()
    return (
      Math.min(lower.length, other.length) >= LEAST_PART && (other.includes(lower) || lower.includes(other))
    )
  }
  const parts = candidates.filter(isPart)
  if (parts.length > 0) return nearest(word, parts)
  const candidate = nearest(word, candidates)
  return distance(lower, candidate.toLowerCase()) <= word.length / 2 ? candidate : undefined
}

/** A word that holds another, or is held by it, means it, unless it is shorter than this. */
const LEAST_PART = 3

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

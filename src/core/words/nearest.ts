/** Returns the candidate with the smallest edit distance, for "did you mean". */
export function nearest(word: string, candidates: readonly string[]): string {
  const ranked = candidates.map((candidate) => ({ candidate, distance: distance(word, candidate) }))
  ranked.sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate ?? ''
}

/** Returns the candidate that was probably meant; undefined if none is similar, because a guess would be misleading. */
export function likely(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const closest = nearest(word, candidates)
  const changes = distance(lower, closest.toLowerCase())
  if (changes <= word.length * MISSPELT_SHARE) return closest
  const isPart = (candidate: string) => {
    const other = candidate.toLowerCase()
    return (
      Math.min(lower.length, other.length) >= LEAST_PART && (other.includes(lower) || lower.includes(other))
    )
  }
  const parts = candidates.filter(isPart)
  if (parts.length > 0) return nearest(word, parts)
  return changes <= word.length / 2 ? closest : undefined
}

/** A word that differs in at most this share of its characters is misspelt: `startAtt` means `startAt`, not `start`. */
const MISSPELT_SHARE = 0.2
/** Minimum length for matching a word that contains the candidate or is contained in it. */
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

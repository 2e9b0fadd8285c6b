/** A scale for durations from a millisecond up, on which each line is ten times the one below it. */

const LEAST_MS = 1
const FEWEST_LINES = 3

/** The lines of the scale: 1 ms, 10 ms, … up to the first that is not below the highest value. */
export function decadesOf(highestMs: number): number[] {
  const lines = [LEAST_MS]
  while ((lines.at(-1) ?? 0) < highestMs || lines.length < FEWEST_LINES)
    lines.push((lines.at(-1) ?? LEAST_MS) * 10)
  return lines
}

/** Where a value stands between the lowest line and the highest, from 0 to 1. */
export function logHeight(ms: number, topMs: number): number {
  const height = Math.log10(Math.max(ms, LEAST_MS) / LEAST_MS) / Math.log10(topMs / LEAST_MS)
  return Math.min(1, Math.max(0, height))
}

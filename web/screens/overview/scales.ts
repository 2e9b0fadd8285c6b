/** Scales of charts: their grid lines, and the position of a value between the lowest and the highest line. */

const LEAST_MS = 1
const FEWEST_LINES = 3

/** Grid lines for durations: 1 ms, 10 ms, and so on up to the first that is not below the highest value. */
export function decadesOf(highestMs: number): number[] {
  const lines = [LEAST_MS]
  while ((lines.at(-1) ?? 0) < highestMs || lines.length < FEWEST_LINES)
    lines.push((lines.at(-1) ?? LEAST_MS) * 10)
  return lines
}

/** The position of a duration between the lowest and the highest line, from 0 to 1. */
export function logHeight(ms: number, topMs: number): number {
  const height = Math.log10(Math.max(ms, LEAST_MS) / LEAST_MS) / Math.log10(topMs / LEAST_MS)
  return Math.min(1, Math.max(0, height))
}

const ROUND = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]

/**
 * Grid lines for counts: zero, the first round number that is not below the highest value, and its half if that is a whole
 * number.
 */
export function countsTo(highest: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, highest)))
  const tops = ROUND.map((step) => Math.round(step * power * 10) / 10).filter(Number.isInteger)
  const top = tops.find((count) => count >= highest) ?? 10 * power
  return [0, top / 2, top].filter(Number.isInteger)
}

const FIRST_MS = 1_000
const LONGEST_MS = 300_000

/** Returns how long to wait after this many earlier failures: twice as long each time, with jitter. */
export function backoffMs(failures: number, random: () => number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 20))
  return longest / 2 + (random() * longest) / 2
}

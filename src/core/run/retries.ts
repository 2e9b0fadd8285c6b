/** Attempts beyond the first, not counting those that only replaced a dead worker's. */
export function retriesOf({ attempt, losses }: { attempt: number; losses: number }): number {
  return Math.max(0, attempt - losses - 1)
}

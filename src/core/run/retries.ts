/** Number of attempts after the first, not counting those that replaced a lost attempt. */
export function retriesOf({ attempt, losses }: { attempt: number; losses: number }): number {
  return Math.max(0, attempt - losses - 1)
}

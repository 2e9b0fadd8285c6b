/** On a machine that is busy with other things, what takes a moment may take half a minute. */
const PATIENCE_MS = 60_000

export interface Patience {
  readonly withinMs?: number
  readonly everyMs?: number
  /** Describes the state of things in the error, if the answer never came. */
  readonly otherwise?: () => unknown
}

/** Repeats a query until it has an answer; fails with the last result if it never has. */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false | null>,
  { withinMs = PATIENCE_MS, everyMs = 20, otherwise = () => undefined }: Patience = {},
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false && answer !== null) return answer
    if (performance.now() > deadline) {
      const instead = JSON.stringify((await otherwise()) ?? answer)
      throw new Error(`not so within ${withinMs} ms; instead it was ${instead}`)
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

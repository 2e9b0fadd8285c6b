/** On a machine that is busy with other things, what takes a moment may take half a minute. */
const PATIENCE_MS = 60_000

export interface Patience {
  readonly withinMs?: number
  readonly everyMs?: number
  /** What is to be known about how things stand when the answer never came. */
  readonly otherwise?: () => unknown
}

/** Asks again and again until the answer is there, and fails with the last answer when it never is. */
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

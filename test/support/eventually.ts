/** On a machine that is busy with other things, what takes a moment may take half a minute. */
const PATIENCE_MS = 60_000

/** Asks again and again until the answer is there, and fails with the last answer when it never is. */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false | null>,
  { withinMs = PATIENCE_MS, everyMs = 20 } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== false && answer !== null) return answer
    if (performance.now() > deadline)
      throw new Error(`not so within ${withinMs} ms; the last answer was ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

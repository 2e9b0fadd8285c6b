/**
 * Work that may be long, cut into small steps: a generator that pauses after each of them and returns the result. Whoever
 * shares its process with others takes the steps in turns with them; whoever has to know at once takes them all.
 */
export type Steps<Result> = Generator<void, Result, void>

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

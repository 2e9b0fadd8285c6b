/**
 * Long work in small steps: a generator that pauses after each step and returns the result. A caller that shares its process
 * with other work interleaves the steps with it; a caller that needs the result at once runs all of them.
 */
export type Steps<Result> = Generator<void, Result, void>

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

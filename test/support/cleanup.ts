import { afterAll, onTestFinished } from 'vitest'

/** Cleans up after the test that is running, or, outside of one, after the file. */
export function whenDone(clean: () => unknown): void {
  try {
    onTestFinished(async () => {
      await clean()
    })
  } catch {
    afterAll(async () => {
      await clean()
    })
  }
}

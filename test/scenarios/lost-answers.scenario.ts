/** For how long lost answers hold up runs, a minute long. `npm run suite lost-answers` runs it. */
import { expect, test } from 'vitest'
import { loseAnswers } from './lost-answers.ts'

/** What the architecture promises of the answer to a fire or a claim that was lost. */
const HANDED_BACK_WITHIN_MS = 20_000
/** The answer to the claim that follows may be lost as well, which is rare; after that it would have to be lost once more. */
const LATE_WITHIN_MS = 2 * HANDED_BACK_WITHIN_MS
const LENGTH_MS = 60_000

test('runs are handed back within 20 seconds while three of four answers are lost', {
  timeout: 300_000,
}, async () => {
  const { lostAnswers, handedBack, longestHeldMs, worstLatenessMs, runs } = await loseAnswers(LENGTH_MS)

  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  process.stdout.write(
    `  ${lostAnswers} lost answers: ${handedBack} of ${runs} runs handed back, after ${seconds(longestHeldMs)} at most; ` +
      `worst lateness ${seconds(worstLatenessMs)}\n`,
  )
  // Without these it would prove nothing.
  expect(lostAnswers).toBeGreaterThan(15)
  expect(handedBack).toBeGreaterThan(15)
  expect(longestHeldMs).toBeLessThan(HANDED_BACK_WITHIN_MS)
  expect(worstLatenessMs).toBeLessThan(LATE_WITHIN_MS)
})

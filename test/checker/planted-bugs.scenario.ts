/**
 * Can the checker see? Bugs are planted in the real program, one at a time, and what comes of it is judged:
 * each must be found and called by its name, and nothing else may be found. Without a bug the result must be
 * valid, after a run that has seen everything that is hard to get right. `npm run suite planted-bugs` runs
 * this and nothing beside it: a bug shows itself only where the machine leaves it the time to.
 */
import { beforeAll, expect, test } from 'vitest'
import { BUGS, type Bug } from './bugs.ts'
import { describe } from './check.ts'
import { type Experimental, experiment, LONG_LEAD_MS, type Result } from './experiment.ts'

const { BELFRY_TEST_PLANTED_BUGS: which = 'all', BELFRY_TEST_SEED: seed = '1' } = process.env
/** Each takes some seconds, most of which it waits. */
const AT_ONCE = 3
/** On a busy machine a bug may not get the time to show itself, or others seem to be there: then it is planted again. */
const TRIES = 3
const TIMEOUT_MS = 900_000

/** All, or those whose name has a word in it. */
const isPlanted = ({ name }: Bug) => which === 'all' || name.includes(which)
const planted = BUGS.filter(isPlanted)
/** Nothing is changed, and workers of the users' own are what is tried. */
const REMOTE_CONTROL: Experimental = { name: 'no bug', edits: [], isRemote: true }
const results = new Map<Experimental | null, Promise<Result>>()

beforeAll(() => {
  const free = Array.from({ length: AT_ONCE }, () => Promise.resolve())
  for (const [i, bug] of [null, REMOTE_CONTROL, ...planted].entries()) {
    const turn = free[i % AT_ONCE] ?? Promise.resolve()
    const result = turn.then(() => (isBug(bug) ? untilFound(bug) : experiment({ bug, seed: Number(seed) })))
    free[i % AT_ONCE] = result.then(
      () => {},
      () => {},
    )
    results.set(bug, result)
  }
})

const isBug = (bug: Experimental | null): bug is Bug => bug !== null && 'kinds' in bug

const kindsFound = ({ checked }: Result, { mayFollow = [] }: Bug) =>
  [...new Set(checked.findings.map(({ kind }) => kind))].filter((kind) => !mayFollow.includes(kind)).sort()

/** The result that it must have, or else that of the last try. */
async function untilFound(bug: Bug): Promise<Result> {
  for (let n = 1; ; n++) {
    const again = n > 1 ? { seed: Number(seed) + (n - 1) * 1_000_000, leadMs: LONG_LEAD_MS } : {}
    const result = await experiment({ bug, seed: Number(seed), ...again }).catch((error: Error) => {
      if (n === TRIES) throw error
      return null
    })
    if (result && (n === TRIES || kindsFound(result, bug).join() === bug.kinds.join())) return result
    process.stdout.write(
      `  planted again: ${bug.name}: ${result ? describe(result.checked).slice(0, 500) : 'it broke off'}\n`,
    )
  }
}

const resultOf = (bug: Experimental | null) => results.get(bug) as Promise<Result>

test('without a bug there is no finding, although a node lost shards and runs without noticing', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { checked, refusedWrites } = await resultOf(null)

  expect(checked.kind, describe(checked)).toBe('valid')
  expect(refusedWrites).toBeGreaterThan(0)
})

test('without a bug the late outcomes of a worker that lost its runs are refused', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { checked, refusedWrites } = await resultOf(REMOTE_CONTROL)

  expect(checked.kind, describe(checked)).toBe('valid')
  expect(refusedWrites).toBeGreaterThan(0)
})

test.each(planted)('$kinds when $name', { timeout: TIMEOUT_MS }, async (bug) => {
  const result = await resultOf(bug)
  const { checked, foundStatements } = result

  expect(foundStatements, `edits of ${bug.name} that found a statement to change`).toEqual(
    bug.edits.map((_, i) => i),
  )
  expect(kindsFound(result, bug), `seed ${seed}: ${describe(checked)}`).toEqual(bug.kinds)
})

/**
 * Can the checker see? Bugs are planted in the real program, one at a time, and what comes of it is judged:
 * each must be found and called by its name, and nothing else may be found. Without a bug the verdict must be
 * valid, after a run that has seen everything that is hard to get right. `npm run test:planted-bugs` runs
 * this and nothing beside it: a bug shows itself only where the machine leaves it the time to.
 */
import { beforeAll, expect, test } from 'vitest'
import { BUGS, type Bug } from './bugs.ts'
import { describe } from './check.ts'
import { type Experimental, experiment, type Result } from './experiment.ts'

const { BELFRY_TEST_PLANTED_BUGS: which = 'all', BELFRY_TEST_SEED: seed = '1' } = process.env
/** Each takes some seconds, most of which it waits. */
const AT_ONCE = 3
const TIMEOUT_MS = 300_000

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
    const result = turn.then(() => experiment({ bug, seed: Number(seed) }))
    free[i % AT_ONCE] = result.then(
      () => {},
      () => {},
    )
    results.set(bug, result)
  }
})

const resultOf = (bug: Experimental | null) => results.get(bug) as Promise<Result>

test('without a bug nothing is found, though shards and runs were taken from a node that did not know', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { verdict, refusedWrites } = await resultOf(null)

  expect(verdict.kind, describe(verdict)).toBe('valid')
  expect(refusedWrites).toBeGreaterThan(0)
})

test('without a bug a worker that lost its runs is told that their ends do not count', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { verdict, refusedWrites } = await resultOf(REMOTE_CONTROL)

  expect(verdict.kind, describe(verdict)).toBe('valid')
  expect(refusedWrites).toBeGreaterThan(0)
})

test.each(planted)('$kinds when $name', { timeout: TIMEOUT_MS }, async (bug) => {
  const { verdict, foundStatements } = await resultOf(bug)
  const kinds = [...new Set(verdict.findings.map(({ kind }) => kind))].sort()

  expect(foundStatements, `edits of ${bug.name} that found a statement to change`).toEqual(
    bug.edits.map((_, i) => i),
  )
  expect(kinds, `seed ${seed}: ${describe(verdict)}`).toEqual(bug.kinds)
})

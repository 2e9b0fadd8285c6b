/** The result as a whole; what leads to it is judged in cases/, a file a subject. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { check } from './check.ts'
import { ended, eventful, one, story } from './stories.ts'

test('the result is unknown when an event that the experiment requires did not occur', () => {
  expect(check(story(one), ['reclaims']).kind).toBe('unknown')
  expect(check(story(eventful), ['reclaims', 'retries', 'repetitions']).kind).toBe('valid')
})

test('further problems of a run are listed with its first finding', () => {
  const [finding] = check(
    story({ ...one, tables: { history: [ended('a', 0, { attempt: 3 }), ended('a', 0)] } }),
  ).findings

  expect(finding).toMatchObject({
    kind: 'history_doubled',
    also: [{ kind: 'history_missing' }, { kind: 'inconsistent' }],
  })
})

/** Every file that the result comes from. */
function filesBehind(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/from\s*'(\.[^']+)'/g))
    filesBehind(join(dirname(path), target), seen)
  return seen
}

test('the result shares no code with the product', () => {
  const here = dirname(fileURLToPath(import.meta.url))
  const behind = ['check.ts', 'observe.ts', 'client.ts'].flatMap((name) => [...filesBehind(join(here, name))])

  expect(behind.length).toBeGreaterThan(10)
  expect(behind.filter((path) => path.includes('/src/'))).toEqual([])
})

/** Every scenario belongs to a suite, and what selects files of a suite or names one is understood. */
import { expect, test } from 'vitest'
import { SUITES } from './suites.ts'
import { FILES } from './tree.ts'

const scripts = new URL('../../scripts/', import.meta.url)
const load = (path: string) => import(new URL(path, scripts).href)
const { select } = await load('suites/selection.mjs')
const { takeOptions } = await load('suites/options.mjs')
const { byLikeness } = await load('suites/likeness.mjs')

const isScreenshots = (path: string) => path.endsWith('screenshots.scenario.ts')

test('every scenario belongs to a suite or takes screenshots', () => {
  const scenarios = FILES.filter((path) => path.endsWith('.scenario.ts') && !isScreenshots(path))
  const inSuite = (file: string) =>
    SUITES.some(
      ({ path }) => path !== undefined && (path.endsWith('/') ? file.startsWith(path) : file === path),
    )

  expect(scenarios.length).toBeGreaterThan(0)
  expect(scenarios.filter((file) => !inSuite(file))).toEqual([])
})

test('names of suites are unique, and each suite is described in sentences', () => {
  const names = SUITES.map(({ name }) => name)

  expect(names).toEqual([...new Set(names)])
  expect(SUITES.filter(({ shows }) => !/^[A-Z].*\.$/.test(shows))).toEqual([])
})

test('modules of suites can be loaded', async () => {
  const modules = await Promise.all(SUITES.flatMap(({ module }) => (module === undefined ? [] : [module()])))

  expect(modules.length).toBeGreaterThan(0)
  expect(modules.map(({ run }) => typeof run)).toEqual(modules.map(() => 'function'))
})

test.each([
  { given: [], args: ['test/targets/'] },
  { given: ['flapping'], args: ['test/targets/flapping.scenario.ts'] },
  { given: ['-t', 'half a second'], args: ['test/targets/', '-t', 'half a second'] },
  { given: ['flapping', '-t', 'a'], args: ['test/targets/flapping.scenario.ts', '-t', 'a'] },
])('arguments $given select the right files of a suite', ({ given, args }) => {
  expect(select('test/targets/', given, '.scenario.ts')).toEqual(args)
})

test('a word that selects no file of a suite is refused with the names of its files', () => {
  expect(() => select('test/targets/', ['flaping'], '.scenario.ts')).toThrow(
    /No file of this suite is named flaping\. Its files: .*\bflapping\b/,
  )
})

test('options of a suite are separated from those of vitest', () => {
  const args = ['--seed', '42', '-t', 'a name', '--acts=10', '--bail', '1']

  expect(takeOptions(args, ['seed', 'acts'])).toEqual({
    values: { seed: '42', acts: '10' },
    rest: ['-t', 'a name', '--bail', '1'],
  })
  expect(() => takeOptions(['--seed'], ['seed'])).toThrow('--seed needs a value')
})

test.each([
  ['target', 'targets'],
  ['test:targets', 'targets'],
  ['plantedbugs', 'planted-bugs'],
  ['clokcs', 'clocks'],
])('the suite most similar to %s is %s', (word, name) => {
  const names = SUITES.map((suite) => suite.name)

  expect(byLikeness(word, names)[0]).toBe(name)
  expect(byLikeness(word, names)).toHaveLength(names.length)
})

/**
 * `npm run suite` lists the suites that are not part of `npm test`; `npm run suite targets` runs one. Words after the name
 * select files (`npm run suite targets flapping`), and options are those of the suite or of vitest:
 * `npm run suite ledger -- --seed 42`, `npm run suite clocks -- -t 'half a second'`.
 */
import { SUITES } from './suites/index.mjs'
import { byLikeness } from './suites/likeness.mjs'
import { runSelected } from './suites/selection.mjs'
import { SuiteError } from './suites/suite-error.mjs'

/** @typedef {import('./suites/index.mjs').Suite} Suite */

const [name, ...args] = process.argv.slice(2)
const suite = SUITES.find((suite) => suite.name === name)
if (suite !== undefined) process.exitCode = await start(suite)
else if (name === undefined || name === '--help') list()
else refuse(name)

/** @param {Suite} suite */
async function start(suite) {
  try {
    if (suite.module === undefined) return await runSelected(suite.path, args)
    const { run } = await suite.module()
    return await run(args, suite.path ?? '')
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    console.error(error.message)
    if (error.exitCode === 2)
      console.error(`Usage: npm run suite ${suite.name} ${suite.options ?? '[files] [-- options of vitest]'}`)
    return error.exitCode
  }
}

function list() {
  const width = Math.max(...SUITES.map(({ name }) => name.length)) + 2
  console.log('npm run suite NAME runs one of these suites:\n')
  for (const { name, shows, lasts, options } of SUITES) {
    console.log(`  ${name.padEnd(width)}${shows}${lasts === undefined ? '' : ` Takes ${lasts}.`}`)
    if (options) console.log(`  ${' '.repeat(width)}npm run suite ${name} ${options}`)
  }
  console.log(`
Words after the name select files: npm run suite targets flapping
Options after -- are those of the suite or of vitest: npm run suite clocks -- -t 'half a second'`)
}

/** @param {string} unknown */
function refuse(unknown) {
  const names = byLikeness(
    unknown,
    SUITES.map(({ name }) => name),
  )
  console.error(`There is no suite ${unknown}. Suites, the most similar names first: ${names.join(', ')}`)
  process.exitCode = 2
}

/**
 * The scenarios of test/scenarios and test/faults under each preset, with its own intervals and the bounds that follow from them. Names of
 * presets choose some of them: `npm run suite presets minute-cron small-batches`.
 */
import { runScenarios, runVitest } from '../vitest.mjs'
import { select, selects } from './selection.mjs'

const IN_NPM_TEST = { path: 'test/scenarios/', suffix: '.test.ts' }
const FAULTS = { path: 'test/faults/', suffix: '.scenario.ts' }
const PRESETS = ['batch-windows', 'minute-cron', 'frequent-scan', 'small-batches']

/** @type {import('./index.mjs').Run} */
export async function run(args) {
  const named = args.filter((arg) => PRESETS.includes(arg))
  const others = args.filter((arg) => !PRESETS.includes(arg))
  const both = [IN_NPM_TEST, FAULTS].filter(({ path, suffix }) => selects(path, others, suffix))
  const places = both.length > 0 ? both : [IN_NPM_TEST]
  /** @type {string[]} */
  const failed = []
  for (const preset of named.length > 0 ? named : PRESETS) {
    console.log(`\n── preset ${preset}`)
    const env = { BELFRY_TEST_PRESET: preset }
    let hasFailed = false
    for (const { path, suffix } of places) {
      const selected = select(path, others, suffix)
      const code =
        path === FAULTS.path
          ? await runScenarios(selected, env)
          : await runVitest([...selected, '--no-file-parallelism'], env)
      hasFailed ||= code !== 0
    }
    if (hasFailed) failed.push(preset)
  }
  console.log(failed.length === 0 ? '✓ every preset passes' : `✕ failed: ${failed.join(', ')}`)
  return failed.length === 0 ? 0 : 1
}

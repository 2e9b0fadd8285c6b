/**
 * The scenarios of test/scenarios under each preset, with its own intervals and the bounds that follow from them. Names of
 * presets choose some of them: `npm run suite presets minute-cron small-batches`.
 */
import { runVitest } from '../vitest.mjs'
import { select } from './selection.mjs'

const SCENARIOS = 'test/scenarios/'
const PRESETS = ['batch-windows', 'minute-cron', 'frequent-scan', 'small-batches']

/** @type {import('./index.mjs').Run} */
export async function run(args) {
  const named = args.filter((arg) => PRESETS.includes(arg))
  const others = args.filter((arg) => !PRESETS.includes(arg))
  const vitestArgs = [...select(SCENARIOS, others, '.test.ts'), '--no-file-parallelism']
  /** @type {string[]} */
  const failed = []
  for (const preset of named.length > 0 ? named : PRESETS) {
    console.log(`\n── preset ${preset}`)
    if ((await runVitest(vitestArgs, { BELFRY_TEST_PRESET: preset })) !== 0) failed.push(preset)
  }
  console.log(failed.length === 0 ? '✓ every preset passes' : `✕ failed: ${failed.join(', ')}`)
  return failed.length === 0 ? 0 : 1
}

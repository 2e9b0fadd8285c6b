/**
 * `npm run test:targets`: nobody waits behind somebody else's slow target, with the promised figures, and what a circuit saves. The
 * figures mean something only on a machine that does nothing else meanwhile. An argument selects files: `-- flapping`.
 */
import { runScenario } from './scenario.mjs'

const [only = ''] = process.argv.slice(2)
process.exitCode = await runScenario(`test/targets/${only}`, { seed: 1, rounds: 1 })

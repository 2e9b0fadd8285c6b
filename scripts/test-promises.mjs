/** `npm run test:promises`: the figures that are promised, on a machine that does nothing else. */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/scenarios/promises.scenario.ts', { seed: 1, rounds: 1 })

/** `npm run test:bytes`: half a gigabyte of definitions that come due together, on a node with a small heap and a probe. */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/bytes/large-definitions.scenario.ts', { seed: 1, rounds: 1 })

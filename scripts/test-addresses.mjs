/** `npm run test:addresses`: every way to an address that no call may reach, in network namespaces full of canaries. */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/calls/forbidden-addresses.scenario.ts', { seed: 1, rounds: 1 })

/** `npm run test:disk-full`: the disk of the database fills up and is freed again, on a file system of its own. */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/storage/disk-full.scenario.ts', { seed: 1, rounds: 1 })

/**
 * `npm run test:restarts`: how soon a node is itself again after PostgreSQL was stopped without a word five times. Prints the figures; they
 * mean something only on a machine that does nothing else meanwhile.
 */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/scenarios/database-restarts.scenario.ts', { seed: 1, rounds: 1 })

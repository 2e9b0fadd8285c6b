/**
 * `npm run test:lost-answers`: for how long runs are held up while the wire to PostgreSQL loses answers to fires and claims. Prints the
 * figures.
 */
import { runScenario } from './scenario.mjs'

process.exitCode = await runScenario('test/scenarios/lost-answers.scenario.ts', { seed: 1, rounds: 1 })

/** Scenarios that take minutes or need other programs. `npm test` leaves them out; `npm run suite` lists the suites that run them. */
import { defineConfig, mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const { test } = mergeConfig(config, {})
export default defineConfig({
  test: { ...test, include: ['test/**/*.scenario.ts'], fileParallelism: false, testTimeout: 120_000 },
})

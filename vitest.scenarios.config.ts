/** Scenarios that take minutes or need other programs. Each kind has a command of its own, beside `npm test`. */
import { defineConfig, mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const { test } = mergeConfig(config, {})
export default defineConfig({
  test: { ...test, include: ['test/**/*.scenario.ts'], fileParallelism: false, testTimeout: 120_000 },
})

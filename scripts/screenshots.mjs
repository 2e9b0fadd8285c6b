/**
 * `npm run screenshots -- [folder] [--minutes 10] [--only settings]`: pictures of every screen of the dashboard with none, a few and
 * thousands of what it shows, in light and dark, as wide as a desk, a small desk, a tablet and a phone, for somebody to look at.
 * `--minutes` lets the server run so long first, so that the charts have something to show; `--only` is a part of the names of screens.
 */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { runScenarios } from './vitest.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '0' }, only: { type: 'string', default: '' } },
})
if (!/^\d+$/.test(values.minutes)) {
  console.error('Usage: npm run screenshots -- [folder] [--minutes 10] [--only settings]')
  process.exit(2)
}
const folder = resolve(positionals[0] ?? mkdtempSync(join(tmpdir(), 'belfry-screenshots-')))

// Selects both scenario files whose names contain this text.
const code = await runScenarios(['screenshots.scenario.ts'], {
  BELFRY_SCREENSHOTS: folder,
  BELFRY_SCREENSHOT_MINUTES: values.minutes,
  BELFRY_SCREENSHOT_ONLY: values.only,
})
if (code === 0) console.log(`The pictures are in ${folder}`)
process.exitCode = code

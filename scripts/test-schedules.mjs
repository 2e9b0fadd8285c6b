/**
 * `npm run test:schedules`: compares a million random schedules, in every time zone and over ten years, with an
 * oracle that steps through time; on two cores, in some minutes. A difference is printed with the seed that
 * replays it: `npm run test:schedules -- --seed 42 --cases 10000`. `--part 2/5` compares the second fifth alone.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { prepare } from './bootstrap.mjs'

const PARTS = 2
/** Each has zones of its own, and there are some four hundred. */
const MAX_PARTS = 100
const TELL_EVERY_MS = 10_000

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    part: { type: 'string', default: '1/1' },
  },
})
const cases = Number(values.cases)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const [, k = 0, n = 0] = (/^(\d+)\/(\d+)$/.exec(values.part) ?? []).map(Number)
const isPart = k >= 1 && k <= n && n <= MAX_PARTS
if (!Number.isInteger(cases) || cases < PARTS * n || !Number.isInteger(seed) || !isPart) {
  console.error('Usage: npm run test:schedules -- [--cases 1000000] [--seed 42] [--part 1/1]')
  process.exit(2)
}

await prepare({ build: false })
const { build } = await import('esbuild')
const directory = mkdtempSync(join(tmpdir(), 'belfry-schedules-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const program = join(directory, 'part.mjs')
await build({
  entryPoints: [join(root, 'test', 'schedules', 'differential-part.ts')],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})

const startedAt = performance.now()
const wanted = Math.floor(cases / n)
console.log(`Seed ${seed}: ${wanted} schedules against the oracle`)
const done = Array.from({ length: PARTS }, () => 0)
const timer = setInterval(() => {
  const sum = done.reduce((a, b) => a + b, 0)
  console.log(`${sum} of ${wanted} (${Math.round((performance.now() - startedAt) / 1000)} s)`)
}, TELL_EVERY_MS)
const results = await Promise.all(done.map((_, part) => runPart(part)))
clearInterval(timer)

const sum = (/** @type {'cases' | 'zones' | 'clockChanges' | 'fires'} */ name) =>
  results.reduce((total, result) => total + result[name], 0)
const mismatches = results.flatMap((result) => result.mismatches)
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(
  `${sum('cases')} schedules in ${sum('zones')} zones, ${sum('clockChanges')} clock changes, ${sum('fires')} fires compared in ${seconds} s`,
)
for (const mismatch of mismatches) console.error(mismatch)
console.log(
  mismatches.length === 0
    ? 'No difference.'
    : `Differences; replay with --seed ${seed} --cases ${cases} --part ${k}/${n}`,
)
process.exit(mismatches.length === 0 ? 0 : 1)

/**
 * @param {number} part
 * @returns {Promise<{ cases: number, zones: number, clockChanges: number, fires: number, mismatches: string[] }>}
 */
async function runPart(part) {
  const share = Math.floor(wanted / PARTS) + (part < wanted % PARTS ? 1 : 0)
  const nth = (k - 1) * PARTS + part
  const args = ['--cases', share, '--seed', seed, '--part', nth, '--parts', PARTS * n].map(String)
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let result
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line)
    if (message.done !== undefined) done[part] = message.done
    if (message.result !== undefined) result = message.result
  }
  if (!result) throw new Error(`part ${part} ended without a result`)
  return result
}

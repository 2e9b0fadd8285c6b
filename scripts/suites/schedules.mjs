/**
 * Compares random schedules, in every time zone and over ten years, with an oracle that steps through time. A difference is
 * printed with the options that repeat it: `npm run suite schedules -- --seed 42 --cases 10000`. `--part 2/5` compares the
 * second fifth alone.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { prepare } from '../bootstrap.mjs'
import { integer, seedFrom, takeOptions } from './options.mjs'
import { SuiteError } from './suite-error.mjs'

const PARTS = 2
/** Each has its own zones, and there are some four hundred. */
const MAX_PARTS = 100
const TELL_EVERY_MS = 10_000

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * @typedef {{ cases: number, seed: number, k: number, n: number }} Wanted the k-th of n parts of the cases
 * @typedef {{ cases: number, zones: number, clockChanges: number, fires: number, mismatches: string[] }} Result
 */

/** @type {import('./index.mjs').Run} */
export async function run(args) {
  const wanted = wantedBy(args)
  await prepare({ build: false })
  const directory = mkdtempSync(join(tmpdir(), 'belfry-schedules-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const program = join(directory, 'part.mjs')
  const { build } = await import('esbuild')
  await build({
    entryPoints: [join(root, 'test', 'schedules', 'differential-part.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return compare(program, wanted)
}

/**
 * @param {string[]} args
 * @returns {Wanted}
 */
function wantedBy(args) {
  const { values, rest } = takeOptions(args, ['cases', 'seed', 'part'])
  if (rest.length > 0) throw new SuiteError(`Unknown arguments: ${rest.join(' ')}`, { exitCode: 2 })
  const { part = '1/1' } = values
  const [, k = 0, n = 0] = (/^(\d+)\/(\d+)$/.exec(part) ?? []).map(Number)
  if (k < 1 || k > n || n > MAX_PARTS)
    throw new SuiteError(`--part is ${part}, and must be such as 2/5, up to ${MAX_PARTS}/${MAX_PARTS}`, {
      exitCode: 2,
    })
  const cases = integer('cases', values.cases ?? '1000000', { min: PARTS * n })
  return { cases, seed: seedFrom(values.seed), k, n }
}

/**
 * @param {string} program
 * @param {Wanted} wanted
 */
async function compare(program, { cases, seed, k, n }) {
  const startedAt = performance.now()
  const elapsed = () => Math.round((performance.now() - startedAt) / 1000)
  const count = Math.floor(cases / n)
  console.log(`Seed ${seed}: ${count} schedules against the oracle`)
  const done = Array.from({ length: PARTS }, () => 0)
  const timer = setInterval(() => {
    console.log(`${done.reduce((a, b) => a + b, 0)} of ${count} (${elapsed()} s)`)
  }, TELL_EVERY_MS)
  const results = await Promise.all(
    done.map((_, i) => {
      const share = Math.floor(count / PARTS) + (i < count % PARTS ? 1 : 0)
      const part = ['--part', (k - 1) * PARTS + i, '--parts', PARTS * n]
      const args = ['--cases', share, '--seed', seed, ...part].map(String)
      return runPart(program, args, (sum) => {
        done[i] = sum
      })
    }),
  )
  clearInterval(timer)

  const sum = (/** @type {'cases' | 'zones' | 'clockChanges' | 'fires'} */ name) =>
    results.reduce((total, result) => total + result[name], 0)
  console.log(
    `${sum('cases')} schedules in ${sum('zones')} zones, ${sum('clockChanges')} clock changes, ${sum('fires')} fires compared in ${elapsed()} s`,
  )
  const mismatches = results.flatMap((result) => result.mismatches)
  for (const mismatch of mismatches) console.error(mismatch)
  const isEqual = mismatches.length === 0
  console.log(
    isEqual ? 'No difference.' : `Differences; repeat with --seed ${seed} --cases ${cases} --part ${k}/${n}`,
  )
  return isEqual ? 0 : 1
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {(done: number) => void} tell
 * @returns {Promise<Result>}
 */
async function runPart(program, args, tell) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let result
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line)
    if (message.done !== undefined) tell(message.done)
    if (message.result !== undefined) result = message.result
  }
  if (!result) throw new Error(`A part ended without a result: ${args.join(' ')}`)
  return result
}

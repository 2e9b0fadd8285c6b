/**
 * Builds whichever half is out of date: the dashboard in `dist/web`; or the program `dist/main.js` from `src/cli/main.ts`, with
 * `dist/worker.js`, which users import, and its types, and `dist/runner.js`, which runs programs for `belfry worker`.
 * Dependencies of the program stay outside the bundle. `dist/.stamp` records what `dist` was built from and is written last, so
 * an interrupted build is repeated. The new program replaces the old one in one step: there is never a moment without one.
 */

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { buildDashboard, isDashboardBuilt } from './build-dashboard.mjs'
import { hashOf } from './source-hash.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const stamp = join(dist, '.stamp')
const INPUTS = ['src', 'migrations', 'package.json', 'package-lock.json', 'scripts/build.mjs']

/** Returns whether `dist` was built from the current sources. */
export function isBuilt() {
  return isProgramBuilt() && isDashboardBuilt()
}

/**
 * Builds in a separate process, because a build uses memory that a program started afterwards would keep.
 *
 * @param {(pid: number) => void} nameChild told which process does it
 */
export async function buildInChild(nameChild) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) nameChild(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (/** @type {Buffer} */ chunk) => {
      output = (output + chunk).slice(-KEPT_CHARACTERS)
    })
  /** @type {number | null} */
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`Building failed:\n${output.trimEnd()}`)
}

/** The end of a long complaint says what was wrong. */
const KEPT_CHARACTERS = 16 * 1024

export async function build() {
  if (!isProgramBuilt()) await buildProgram()
  if (!isDashboardBuilt()) await buildDashboard()
}

function isProgramBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashOf(INPUTS)
}

async function buildProgram() {
  const { build: bundle } = await import('esbuild')
  const hash = hashOf(INPUTS)
  const others = [declareTypes(), bundleForRequire(bundle), bundleRunner(bundle)]
  const { outputFiles } = await bundle({
    absWorkingDir: root,
    entryPoints: {
      main: 'src/cli/main.ts',
      'beat-thread': 'src/liveness/beat-thread.js',
      worker: 'src/sdk/worker.ts',
    },
    outdir: 'dist',
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    splitting: true,
    // All chunks are in one directory, because files beside the program are found relative to the file that asks for them.
    chunkNames: '[name]-[hash]',
    sourcemap: 'linked',
    logLevel: 'warning',
    define: { BUILD_ID: JSON.stringify(hash.slice(0, 8)) },
    write: false,
  })
  mkdirSync(dist, { recursive: true })
  rmSync(stamp, { force: true })
  // The names of parts change with their content, so new ones stand beside the old until main.js names them.
  const [entry, parts] = [outputFiles.filter(isEntry), outputFiles.filter((file) => !isEntry(file))]
  for (const { path, contents } of [...parts, ...entry]) replaceFile(path, contents)
  await Promise.all(others)
  removeAllBut([
    'web',
    'types',
    'worker.cjs',
    'runner.js',
    'runner.js.map',
    ...outputFiles.map(({ path }) => basename(path)),
  ])
  writeFileSync(stamp, hash)
}

/**
 * The worker for programs that `require` it.
 *
 * @param {typeof import('esbuild').build} bundle
 */
async function bundleForRequire(bundle) {
  const { outputFiles } = await bundle({
    absWorkingDir: root,
    entryPoints: ['src/sdk/worker.ts'],
    outfile: 'dist/worker.cjs',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    write: false,
  })
  mkdirSync(dist, { recursive: true })
  for (const { path, contents } of outputFiles) replaceFile(path, contents)
}

/**
 * Bundles the runner of one attempt of a program into one file: it is started for each attempt, and shares nothing with the
 * rest.
 *
 * @param {typeof import('esbuild').build} bundle
 */
async function bundleRunner(bundle) {
  const { outputFiles } = await bundle({
    absWorkingDir: root,
    entryPoints: ['src/fleet/runner.ts'],
    outfile: 'dist/runner.js',
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    logLevel: 'warning',
    write: false,
  })
  mkdirSync(dist, { recursive: true })
  for (const { path, contents } of outputFiles) replaceFile(path, contents)
}

/** Writes the types of the worker library to `dist/types`, and once more for programs that `require` it. */
async function declareTypes() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'src/sdk/tsconfig.json')])
  const [types, commonjs] = [join(dist, 'types'), join(dist, 'types', 'commonjs')]
  mkdirSync(commonjs, { recursive: true })
  for (const name of readdirSync(types).filter((file) => file.endsWith('.d.ts')))
    replaceFile(join(commonjs, name), readFileSync(join(types, name)))
  // The package around a declaration file determines the kind of its module.
  writeFileSync(join(commonjs, 'package.json'), '{ "type": "commonjs" }\n')
}

function isEntry(/** @type {{ path: string }} */ { path }) {
  return basename(path) === 'main.js'
}

/**
 * @param {string} path
 * @param {Uint8Array} contents
 */
function replaceFile(path, contents) {
  const draft = `${path}.new-${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}

/** @param {string[]} names */
function removeAllBut(names) {
  for (const name of readdirSync(dist))
    if (!names.includes(name)) rmSync(join(dist, name), { recursive: true, force: true })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await build()

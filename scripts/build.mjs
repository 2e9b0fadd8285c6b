/**
 * Builds `dist/main.js`, the program, from `src/cli/main.ts`. Dependencies stay outside the bundle.
 * `dist/.stamp` says what it was built from and is written last, so a build cut short is built again.
 * The new program takes the place of the old one in one step: there is never a moment without one.
 */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const stamp = join(dist, '.stamp')
const INPUTS = ['src', 'migrations', 'package.json', 'package-lock.json', 'scripts/build.mjs']

/** Whether `dist` was built from what is there now. */
export function isBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceHash()
}

export async function build() {
  const { build: bundle } = await import('esbuild')
  const hash = sourceHash()
  const { outputFiles } = await bundle({
    absWorkingDir: root,
    entryPoints: { main: 'src/cli/main.ts', 'beat-thread': 'src/liveness/beat-thread.js' },
    outdir: 'dist',
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    splitting: true,
    // All in one directory: what lies beside the program is found relative to whatever file asks for it.
    chunkNames: '[name]-[hash]',
    sourcemap: 'linked',
    logLevel: 'warning',
    write: false,
  })
  mkdirSync(dist, { recursive: true })
  rmSync(stamp, { force: true })
  // The names of parts change with their content, so new ones stand beside the old until main.js names them.
  const [entry, parts] = [outputFiles.filter(isEntry), outputFiles.filter((file) => !isEntry(file))]
  for (const { path, contents } of [...parts, ...entry]) replaceFile(path, contents)
  removeAllBut(outputFiles.map(({ path }) => basename(path)))
  writeFileSync(stamp, hash)
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

/** A hash over the names and contents of everything that goes into the build. */
export function sourceHash() {
  const hash = createHash('sha256')
  for (const input of INPUTS) {
    for (const file of filesIn(input))
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(root, file)))
        .update('\0')
  }
  return hash.digest('hex')
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
  if (!existsSync(join(root, path))) return []
  if (path.includes('.')) return [path]
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await build()

#!/usr/bin/env node
/**
 * Runs one benchmark: `npm run bench -- drain --runs 60000`. It builds the program first when that is not
 * up to date, and installs what Belfry is compared with when the benchmark asks for it.
 */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build as bundle } from 'esbuild'
import { build, isBuilt } from '../scripts/build.mjs'
import { withProgress } from '../scripts/progress.mjs'
import { arePeersInstalled, installPeers, needsPeers } from './peers/install.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..')
const [name, ...args] = process.argv.slice(2)
const known = readdirSync(here)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))

if (!known.includes(name)) {
  console.error(`Usage: npm run bench -- <name> [options]\nBenchmarks: ${known.join(', ')}`)
  process.exit(2)
}
try {
  if (!isBuilt()) await withProgress('Building the program', build)
  if (needsPeers(name, args) && !arePeersInstalled())
    await withProgress('Installing what Belfry is compared with', installPeers)
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const outfile = join(root, 'node_modules', '.cache', 'belfry-bench', `${name}.mjs`)
await bundle({
  entryPoints: [join(here, `${name}.ts`)],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
  define: { PROJECT_ROOT: JSON.stringify(root) },
})
process.argv = [process.execPath, outfile, ...args]
await import(pathToFileURL(outfile).href)

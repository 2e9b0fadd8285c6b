#!/usr/bin/env node
/** Bundles one benchmark and runs it: `node bench/run.mjs drain --runs 60000`. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const [name, ...args] = process.argv.slice(2)
const known = readdirSync(here)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))

if (!known.includes(name)) {
  console.error(`Usage: npm run bench -- <name> [options]\nBenchmarks: ${known.join(', ')}`)
  process.exit(2)
}
const outfile = join(here, '..', 'node_modules', '.cache', 'belfry-bench', `${name}.mjs`)
await build({
  entryPoints: [join(here, `${name}.ts`)],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  logLevel: 'warning',
  define: { PROJECT_ROOT: JSON.stringify(join(here, '..')) },
})
process.argv = [process.execPath, outfile, ...args]
await import(pathToFileURL(outfile).href)

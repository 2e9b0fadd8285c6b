/**
 * What npm runs before it packs this project, and after it was cloned as somebody's git dependency: builds what the
 * package is made of. An installation without the tools has nothing to build with, and needs nothing built.
 */
import { createRequire } from 'node:module'
import { build } from './build.mjs'

try {
  createRequire(import.meta.url).resolve('esbuild')
} catch {
  process.stderr.write('Not built: the development packages are not installed.\n')
  process.exit(0)
}
await build()

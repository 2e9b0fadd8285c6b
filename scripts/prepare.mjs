/**
 * Run by npm before it packs this project, and after the project was cloned as a git dependency: builds the contents of the
 * package. An installation without the build tools cannot build, and does not need to.
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

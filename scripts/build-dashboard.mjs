/**
 * Builds `dist/web`, what browsers get, from `web`, with a compressed form beside each file. The build is made in another
 * folder and moved into place with a stamp of its sources, so `dist/web` is either complete or absent.
 */

import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import { hashOf } from './source-hash.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = join(root, 'dist', 'web')
const STAMP = '.stamp'
const INPUTS = ['web', 'src/core', 'package.json', 'package-lock.json', 'scripts/build-dashboard.mjs']
/** Below this a compressed form saves nothing worth a second file. */
const COMPRESSED_FROM_BYTES = 1_024
/** Compresses nearly as well as the highest quality, in a tenth of its time. */
const BROTLI_QUALITY = 9

/** Returns whether `dist/web` was built from the current sources. */
export function isDashboardBuilt() {
  const stamp = join(target, STAMP)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashOf(INPUTS)
}

export async function buildDashboard() {
  const { build } = await import('vite')
  const hash = hashOf(INPUTS)
  const draft = `${target}.new-${process.pid}`
  const { NODE_ENV } = process.env
  // Tests build under another NODE_ENV and must get the same result as users.
  process.env.NODE_ENV = 'production'
  try {
    await build({
      configFile: join(root, 'web', 'vite.config.mjs'),
      configLoader: 'native',
      logLevel: 'warn',
      build: { outDir: draft, emptyOutDir: true },
    })
    compressAll(join(draft, 'assets'))
    writeFileSync(join(draft, STAMP), hash)
    const old = `${target}.old-${process.pid}`
    if (existsSync(target)) moveAway(target, old)
    renameSync(draft, target)
    rmSync(old, { recursive: true, force: true })
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
    rmSync(draft, { recursive: true, force: true })
  }
}

/**
 * A directory of a lower layer of a container cannot be renamed; there it is removed instead.
 *
 * @param {string} from
 * @param {string} to
 */
function moveAway(from, to) {
  try {
    renameSync(from, to)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EXDEV') throw error
    rmSync(from, { recursive: true, force: true })
  }
}

/** @param {string} folder */
function compressAll(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const content = readFileSync(path)
    if (content.length < COMPRESSED_FROM_BYTES) continue
    const params = { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params }))
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
  }
}

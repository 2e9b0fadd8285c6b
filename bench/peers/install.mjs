/** Installs the peers beside the benchmarks, in bench/node_modules, where the product never looks. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(bench, 'node_modules', '.lock-hash')
/** Benchmarks that compare Belfry with the peers. */
const COMPARING = ['drain', 'http', 'enqueue']
const SHOWN_CHARS = 4_000

/**
 * @param {string} name
 * @param {string[]} args
 */
export function needsPeers(name, args) {
  if (!COMPARING.includes(name) || args.includes('--help')) return false
  const at = args.findIndex((arg) => arg === '--only' || arg.startsWith('--only='))
  if (at < 0) return true
  const only = args[at] === '--only' ? args[at + 1] : args[at].slice('--only='.length)
  return only !== 'belfry'
}

export function arePeersInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()
}

/** @returns {Promise<void>} */
export function installPeers() {
  const npm = process.env.npm_execpath
  const [command, ...before] = npm && basename(npm) === 'npm-cli.js' ? [process.execPath, npm] : ['npm']
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...before, 'ci', '--no-progress'], {
      cwd: bench,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output = (output + chunk).slice(-SHOWN_CHARS)
      })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code !== 0) return reject(new Error(`npm ci in bench/ failed:\n${output}`))
      writeFileSync(stamp, lockHash())
      resolve()
    })
  })
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(bench, 'package-lock.json')))
    .digest('hex')
}

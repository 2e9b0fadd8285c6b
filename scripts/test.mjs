/**
 * `npm test`: everything that must hold: lint, layout and types, which fail fastest, and then the tests. With arguments, only the
 * tests they select: `npm test -- src/embedded`.
 */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const args = process.argv.slice(2)

await prepare({ build: true })
if (args.length === 0) {
  await Promise.all([
    step('lint', 'biome', ['check', '--diagnostic-level=warn', '.'], { quiet: true }),
    step('types', 'tsc', ['--noEmit'], { quiet: true }),
    step('types of the dashboard', 'tsc', ['--noEmit', '-p', 'web'], { quiet: true }),
  ])
}
await step('tests', 'vitest', ['run', ...args], { quiet: false })

/**
 * Runs one tool and reports how long it took; ends the process if the tool fails. The output of a quiet tool is shown only
 * then.
 *
 * @param {string} name
 * @param {string} tool
 * @param {string[]} toolArgs
 * @param {{ quiet: boolean }} options
 */
async function step(name, tool, toolArgs, { quiet }) {
  const startedAt = performance.now()
  const { code, output } = await run(tool, toolArgs, quiet)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (code === 0) return console.log(`✓ ${name} (${seconds} s)`)
  process.stdout.write(output)
  console.error(`✕ ${name} (${tool} ${toolArgs.join(' ')}, ${seconds} s)`)
  process.exit(code || 1)
}

/**
 * @param {string} tool
 * @param {string[]} toolArgs
 * @param {boolean} quiet
 * @returns {Promise<{ code: number, output: Buffer }>}
 */
function run(tool, toolArgs, quiet) {
  const onWindows = process.platform === 'win32'
  const path = join(root, 'node_modules', '.bin', onWindows ? `${tool}.cmd` : tool)
  const child = spawn(path, toolArgs, {
    cwd: root,
    stdio: ['inherit', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
    shell: onWindows,
  })
  /** @type {Buffer[]} */
  const chunks = []
  child.stdout?.on('data', (chunk) => chunks.push(chunk))
  child.stderr?.on('data', (chunk) => chunks.push(chunk))
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, output: Buffer.from(`${error.message}\n`) }))
    child.once('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks) }))
  })
}

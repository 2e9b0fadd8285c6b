/**
 * Which files of a suite to run. Words before the first option select files of the suite by a part of their names; everything
 * else is passed to vitest. Vitest itself would run the files of the suite and those that match the words.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { basename, join as joined } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { runScenarios } from '../vitest.mjs'
import { SuiteError } from './suite-error.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SCENARIO = '.scenario.ts'

/**
 * @param {string} path a scenario, or a folder of them
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
export const runSelected = (path, args, env) => runScenarios(select(path, args, SCENARIO), env)

/**
 * @param {string} path a file, or a folder with a slash at the end
 * @param {string[]} args
 * @param {string} suffix of the files that count
 * @returns {string[]} arguments of vitest
 */
export function select(path, args, suffix) {
  const { words, options } = divide(args)
  if (words.length === 0) return [path, ...options]
  const selected = selectedBy(words, path, suffix)
  if (selected.length > 0) return [...selected, ...options]
  const all = filesOf(path, suffix)
    .map((file) => basename(file, suffix))
    .join(', ')
  throw new SuiteError(`No file of this suite is named ${words.join(' or ')}. Its files: ${all}`, {
    exitCode: 2,
  })
}

/**
 * Whether these arguments select anything at this place.
 *
 * @param {string} path
 * @param {string[]} args
 * @param {string} suffix
 */
export function selects(path, args, suffix) {
  const { words } = divide(args)
  return words.length === 0 || selectedBy(words, path, suffix).length > 0
}

/**
 * @param {string[]} words
 * @param {string} path
 * @param {string} suffix
 */
const selectedBy = (words, path, suffix) =>
  filesOf(path, suffix).filter((file) => words.some((word) => basename(file).includes(word)))

/** @param {string[]} args */
export function divide(args) {
  const first = args.findIndex((arg) => arg.startsWith('-'))
  const count = first === -1 ? args.length : first
  return { words: args.slice(0, count), options: args.slice(count) }
}

/**
 * @param {string} path
 * @param {string} suffix
 */
function filesOf(path, suffix) {
  if (!path.endsWith('/')) return [path]
  return readdirSync(join(root, path))
    .filter((name) => name.endsWith(suffix))
    .map((name) => joined(path, name))
}

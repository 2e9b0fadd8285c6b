/** Options that a suite has itself. */
import { SuiteError } from './suite-error.mjs'

/**
 * Takes the named options out of the arguments, as `--name value` or `--name=value`. What remains is for vitest, which
 * refuses options that it does not know.
 *
 * @template {string} Name
 * @param {string[]} args
 * @param {readonly Name[]} names
 */
export function takeOptions(args, names) {
  /** @type {Partial<Record<Name, string>>} */
  const values = {}
  /** @type {string[]} */
  const rest = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    const [, flag, inline] = /^--([\w-]+)(?:=(.*))?$/s.exec(arg) ?? []
    const name = names.find((name) => name === flag)
    if (name === undefined) {
      rest.push(arg)
      continue
    }
    const value = inline ?? args[++i]
    if (value === undefined) throw new SuiteError(`--${name} needs a value`, { exitCode: 2 })
    values[name] = value
  }
  return { values, rest }
}

/**
 * @param {string} name of the option
 * @param {string} value
 * @param {{ min: number }} bounds
 */
export function integer(name, value, { min }) {
  const number = Number(value)
  if (value.trim() !== '' && Number.isInteger(number) && number >= min) return number
  throw new SuiteError(`--${name} is ${value}, and must be an integer of at least ${min}`, { exitCode: 2 })
}

/** A seed that differs from run to run, if none was given. @param {string | undefined} value */
export const seedFrom = (value) =>
  value === undefined ? Date.now() % 1_000_000 : integer('seed', value, { min: Number.MIN_SAFE_INTEGER })

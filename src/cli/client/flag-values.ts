/** Parses values of flags. */
import { changedNumber } from '../../core/values/json/changed-number.ts'
import { CliError, EXIT } from '../exit.ts'

/** Text that is not a number is sent unchanged: the server's error names the field and the allowed values. */
export const readNumber = (text: string): unknown =>
  text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)

/** Returns the parsed JSON; the text itself if it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

/** Parses JSON. Rejects numbers that would lose precision in transit, as the server would. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const changed = changedNumber(text)
  if (changed !== null) throw usage(`This JSON would change when sent: ${changed}.`)
  return value
}

export const usage = (message: string, hint = 'See --help for examples.'): CliError =>
  new CliError(message, hint, EXIT.usage)

/** Values of flags, as they are typed. */
import { changedNumber } from '../../core/values/json/changed-number.ts'
import { CliError, EXIT } from '../exit.ts'

/** Text that is no number goes as it is: the server names the field and what would be right. */
export const readNumber = (text: string): unknown =>
  text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)

/** JSON where it is some, else the text itself. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

/** What JSON holds. A number that would become another one on the way is refused, as the server would. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const changed = changedNumber(text)
  if (changed !== null) throw usage(`This JSON would change when sent: ${changed}.`)
  return value
}

export const usage = (message: string, hint = 'See --help for examples.'): CliError =>
  new CliError(message, hint, EXIT.usage)

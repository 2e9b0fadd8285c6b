/** Values of flags, as they are typed. */
import { CliError, EXIT } from '../exit.ts'

/** Text that is no number goes as it is: the server names the field and what would be right. */
export const readNumber = (text: string): unknown =>
  text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)

/** JSON where it is some, else the text itself. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const usage = (message: string, hint = '--help shows examples.'): CliError =>
  new CliError(message, hint, EXIT.usage)

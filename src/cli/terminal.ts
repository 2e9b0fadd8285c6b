/**
 * Colours for each of the two outputs, which need not lead to the same place, and what goes there. NO_COLOR turns
 * both colours off.
 */
import pc from 'picocolors'
import { printable } from '../core/values/printable.ts'

const isForced = Boolean(process.env['FORCE_COLOR']) && process.env['FORCE_COLOR'] !== '0'

function coloursFor(stream: { isTTY?: boolean }) {
  return pc.createColors(!process.env['NO_COLOR'] && (isForced || stream.isTTY === true))
}

export const onStdout = coloursFor(process.stdout)
export const onStderr = coloursFor(process.stderr)

/** The colours that we use ourselves, and where lines end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them.
const OURS = /(\u001b\[(?:0|1|2|22|3[1-6]|39|90)m|\n)/

/**
 * Text that may hold what others have written, ready for a terminal: of all control characters only ends of lines and
 * our own colours are left. It is the last thing that is done to whatever is printed, so that nobody can forget it.
 */
export function harmless(text: string, isColoured: boolean): string {
  return text
    .split(OURS)
    .map((part) => (part === '\n' || (isColoured && OURS.test(part)) ? part : printable(part)))
    .join('')
}

export function printOut(text: string): void {
  process.stdout.write(harmless(text, onStdout.isColorSupported))
}

export function printErr(text: string): void {
  process.stderr.write(harmless(text, onStderr.isColorSupported))
}

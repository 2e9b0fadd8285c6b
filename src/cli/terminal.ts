/**
 * Colours and safe output for standard output and standard error, which can lead to different places. NO_COLOR turns both
 * colours off.
 */
import pc from 'picocolors'
import { printable } from '../core/values/printable.ts'

const isForced = Boolean(process.env['FORCE_COLOR']) && process.env['FORCE_COLOR'] !== '0'

function coloursFor(stream: { isTTY?: boolean }) {
  return pc.createColors(!process.env['NO_COLOR'] && (isForced || stream.isTTY === true))
}

export const onStdout = coloursFor(process.stdout)
export const onStderr = coloursFor(process.stderr)

/** Belfry's own colours, and line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them.
const OURS = /(\u001b\[(?:0|1|2|22|3[1-6]|39|90)m|\n)/

/**
 * Makes text that may contain foreign content safe for a terminal: of all control characters, only line breaks and Belfry's own
 * colours are kept. `printOut` and `printErr` apply it to everything they print, so that no caller has to.
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

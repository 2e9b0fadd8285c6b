/** Colours for each of the two outputs, which need not lead to the same place. NO_COLOR turns both off. */
import pc from 'picocolors'

const isForced = Boolean(process.env['FORCE_COLOR']) && process.env['FORCE_COLOR'] !== '0'

function coloursFor(stream: { isTTY?: boolean }) {
  return pc.createColors(!process.env['NO_COLOR'] && (isForced || stream.isTTY === true))
}

export const onStdout = coloursFor(process.stdout)
export const onStderr = coloursFor(process.stderr)

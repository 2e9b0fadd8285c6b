import { expect, test } from 'vitest'
import { MAX_OUTPUT_LINE_BYTES, ProgramOutput, TAIL_BYTES } from './program-output.ts'

const ended = { exitCode: 0, signal: null }

/** What is kept of standard output that comes in these pieces. */
function outputOf(...pieces: readonly (string | Buffer)[]): unknown {
  const output = new ProgramOutput()
  for (const piece of pieces) output.push('stdout', Buffer.from(piece as string))
  return output.end(ended)
}

test('without an output line the output is the exit code and the captured text', () => {
  const output = new ProgramOutput()
  output.push('stdout', Buffer.from('one\n'))
  output.push('stderr', Buffer.from('oh\nno\n'))

  expect(output.end({ exitCode: 3, signal: null })).toEqual({
    exitCode: 3,
    signal: null,
    stdout: 'one\n',
    stderr: 'oh\nno\n',
    truncated: false,
  })
  expect(output.lastError).toBe('no')
})

test.each([
  ['at once', ['working\n::output {"rows":17}\n']],
  ['without a line end', ['working\n::output {"rows":17}']],
  ['in pieces', ['work', 'ing\n::ou', 'tput {"ro', 'ws":17', '}\n']],
  ['a character at a time', [...'a\n::output {"rows":17}\n']],
  ['before blank lines', ['::output {"rows":17}\n\n \n', '\r\n']],
  ['with Windows line ends', ['working\r\n::output {"rows":17}\r\n']],
  ['after another one', ['::output {"rows":1}\n', '::output   {"rows":17}  \n']],
])('the last line is read as the output: %s', (_, pieces) => {
  expect(outputOf(...pieces)).toEqual({ rows: 17 })
})

test.each([
  ['another line follows', '::output {"rows":17}\ndone\n'],
  ['the mark stands inside of the line', 'x ::output 1\n'],
  ['the mark goes on', '::outputs 1\n'],
])('a line is not an output line: %s', (_, text) => {
  expect(outputOf(text)).toMatchObject({ stdout: text })
  expect(outputOf(text)).not.toHaveProperty('note')
})

test.each([
  ['no JSON', '::output rows=17', 'is not followed by valid JSON'],
  ['nothing', '::output', 'is not followed by valid JSON'],
  ['too long', `::output "${'x'.repeat(MAX_OUTPUT_LINE_BYTES)}"`, 'is longer than 65536 bytes'],
  ['too deep', `::output ${'['.repeat(100)}${']'.repeat(100)}`, 'is nested deeper than 64 levels'],
  ['with NUL', '::output "\\u0000"', 'contains a NUL character'],
])('an invalid output line adds a note: %s', (_, text, note) => {
  const output = outputOf('begin\n', text) as { note: string; exitCode: number }

  expect(output.note).toContain(note)
  expect(output.exitCode).toBe(0)
})

test('long output keeps its end, starting with a whole character', () => {
  const text = `${'é'.repeat(TAIL_BYTES)}x`
  const output = new ProgramOutput()
  for (let at = 0; at < text.length; at += 1_000)
    output.push('stdout', Buffer.from(text.slice(at, at + 1_000)))

  const kept = output.end(ended) as { stdout: string; truncated: boolean }

  expect(kept.truncated).toBe(true)
  expect(Buffer.byteLength(kept.stdout)).toBeLessThanOrEqual(TAIL_BYTES)
  expect(kept.stdout).toMatch(/^é+x$/)
})

test('bytes that are not UTF-8 are replaced by text that can be stored', () => {
  const bytes = Buffer.from([0, 1, 0xff, 0xfe, 0x41])

  expect(outputOf(bytes)).toMatchObject({ stdout: '\ufffd\u0001\ufffd\ufffdA' })
})

/** Reads a secret: typed without echo on a terminal, or from standard input. */
import { CliError, EXIT } from '../exit.ts'

const MAX_CHARACTERS = 4_096
const [INTERRUPT, END, BACKSPACE, DELETE, CLEAR] = ['\u0003', '\u0004', '\b', '\u007f', '\u0015']

/** Returns standard input without surrounding whitespace; most programs append a line break. */
export async function readStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_CHARACTERS)
      throw new CliError('Standard input is too long for a key.', 'Pass only the key.', EXIT.usage)
  }
  return text.trim()
}

/** Prompts on the terminal without echo. */
export function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  if (stdin.isTTY !== true || stderr.isTTY !== true)
    throw new CliError(
      'There is no terminal to read the key from.',
      'Pass the key on standard input: belfry login --key-stdin < file',
      EXIT.usage,
    )
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    let text = ''
    const finish = (settle: () => void) => {
      stdin.off('data', hear)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      settle()
    }
    const hear = (typed: string) => {
      for (const character of typed) {
        if (character === '\r' || character === '\n' || character === END)
          return finish(() => resolve(text.trim()))
        if (character === INTERRUPT)
          return finish(() =>
            reject(new CliError('Cancelled; nothing was stored.', 'Run it again.', EXIT.interrupted)),
          )
        if (character === BACKSPACE || character === DELETE) text = text.slice(0, -1)
        else if (character === CLEAR) text = ''
        else if (text.length < MAX_CHARACTERS) text += character
      }
    }
    stdin.on('data', hear)
    stdin.resume()
  })
}

/** Prompts on the terminal without echo. */
import { printErr } from '../terminal.ts'

const ENTER = ['\r', '\n']
const INTERRUPT = '\u0003'
const END = '\u0004'
const ERASE = ['\u007f', '\b']

/** Returns the text typed until Enter; undefined if interrupted. Requires a terminal. */
export function askHidden(question: string): Promise<string | undefined> {
  const { stdin } = process
  printErr(question)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stdin.resume()
  return new Promise((resolve) => {
    let typed = ''
    const end = (answer: string | undefined) => {
      stdin.off('data', take)
      stdin.setRawMode(false)
      stdin.pause()
      printErr('\n')
      resolve(answer)
    }
    const take = (text: string) => {
      for (const character of text) {
        if (ENTER.includes(character) || (character === END && typed !== '')) return end(typed)
        if (character === INTERRUPT || character === END) return end(undefined)
        typed = ERASE.includes(character) ? [...typed].slice(0, -1).join('') : typed + character
      }
    }
    stdin.on('data', take)
  })
}

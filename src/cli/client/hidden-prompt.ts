/** Asks for something that must not be seen on the screen. */
import { printErr } from '../terminal.ts'

const ENTER = ['\r', '\n']
const INTERRUPT = '\u0003'
const END = '\u0004'
const ERASE = ['\u007f', '\b']

/** What is typed until Enter; undefined when it was interrupted. There must be a terminal. */
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

/** The reader of the guides notices what is wrong with a page; otherwise the guides would prove nothing. */
import { expect, test } from 'vitest'
import { aDirectory } from '../support/process.ts'
import { follow } from './reader.ts'

/** A page from lines, with fences written as ~~~ so that they do not end the ones around them. */
const page = (...lines: string[]) => lines.join('\n').replaceAll('~~~', '```')
const read = (...lines: string[]) => follow(page(...lines), { home: aDirectory() })

test('a correct page is followed to its end, and varying output matches placeholders', async () => {
  await read(
    'Save this as `greet.mjs`:',
    '',
    '~~~js file=greet.mjs',
    "console.log('hello after 12 ms')",
    "console.log('anything')",
    "console.log('at the end of a long line')",
    'setInterval(() => {}, 1000)',
    '~~~',
    '',
    '~~~console terminal=greeter',
    '$ node greet.mjs',
    'hello after 7 ms',
    '…',
    'at the end…',
    '^C',
    '~~~',
    '~~~sh',
    'GREETING=hello',
    '~~~',
    '~~~console',
    '$ echo $GREETING \\',
    '    again',
    'hello again',
    '$ false',
    '$ echo $?',
    '1',
    '~~~',
  )
})

test.each([
  ['another output', ['~~~console', '$ echo hello', 'goodbye', '~~~'], 'It printed:\nhello'],
  ['more output than is shown', ['~~~console', '$ echo a; echo b', 'a', '~~~'], 'It printed:\na\nb'],
  ['less output than is shown', ['~~~console', '$ echo a', 'a', 'b', '~~~'], 'It printed:\na'],
  ['a command that fails', ['~~~sh', 'false', '~~~'], 'exited 1'],
  [
    'a failure that is passed over',
    ['~~~console', '$ false', '$ true', '~~~'],
    'the command before exited 1',
  ],
  [
    'a program that ends too soon',
    ['~~~console terminal=a', '$ echo hi', 'ho', '~~~'],
    'ended before it said',
  ],
  [
    'a file that the text does not name',
    ['Save this:', '', '~~~js file=a.js', '1', '~~~'],
    'save it as a.js',
  ],
  ['a block of which nothing says what to do', ['~~~python', '1', '~~~'], 'line 1: nothing says'],
])('%s is noticed', async (_, lines, message) => {
  await expect(read(...lines)).rejects.toThrow(message)
})

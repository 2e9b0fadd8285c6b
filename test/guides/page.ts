/**
 * A guide as its reader sees it: the fenced blocks of a page, in order. What a block means follows from its language and
 * from words behind it, which readers do not see:
 *
 *     ```sh                        commands, typed one after the other; all must succeed
 *     ```console                   `$ command` and the output that follows it
 *     ```console terminal=worker   a command that goes on, in a terminal of its own; without a `$` line, what it says next
 *     ```ts file=worker.ts         a file to save; the text before the block must name it
 *     ```ts peer=bullmq            code for another product
 */
export interface Block {
  readonly kind: 'sh' | 'console' | 'file' | 'peer'
  readonly language: string
  /** Name of the file, the terminal or the peer. */
  readonly name: string | null
  readonly text: string
  /** Where on the page it begins. */
  readonly line: number
}

export interface Step {
  /** Null for a terminal that only goes on. */
  readonly command: string | null
  readonly output: readonly string[]
}

const FENCE = /^```(\w+)?(?: (file|terminal|peer)=(\S+))?$/
/** Shown and not executed: what is for other programs. */
const ONLY_SHOWN = ['ini', 'crontab', 'sql']

export function blocksOf(page: string): Block[] {
  const lines = page.split('\n')
  const blocks: Block[] = []
  for (let i = 0; i < lines.length; i++) {
    if (!lines[i]?.startsWith('```')) continue
    const [, language = '', what, name = null] = FENCE.exec(lines[i] ?? '') ?? []
    const end = lines.indexOf('```', i + 1)
    const text = lines.slice(i + 1, end).join('\n')
    const line = i + 1
    i = end
    if (ONLY_SHOWN.includes(language)) continue
    blocks.push({ kind: kindOf(language, what, line), language, name, text, line })
  }
  return blocks
}

function kindOf(language: string, what: string | undefined, line: number): Block['kind'] {
  if (what === 'file' || what === 'peer') return what
  if (language === 'console' || (language === 'sh' && what === undefined)) return language
  throw new Error(`line ${line}: nothing says what to do with this block (${language || 'no language'})`)
}

/** The commands of a shell block: its lines, where one that ends with a backslash goes on. */
export const commandsOf = ({ text }: Block): string[] => text.split(/(?<!\\)\n/)

/** The commands of a console block, each with the output shown below it. A command goes on after a backslash. */
export function stepsOf({ text }: Block): Step[] {
  const steps: { command: string | null; output: string[] }[] = []
  let isContinued = false
  for (const line of text.split('\n')) {
    const last = steps.at(-1)
    if (isContinued && last) last.command += `\n${line}`
    else if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: [] })
    else if (last) last.output.push(line)
    else steps.push({ command: null, output: [line] })
    isContinued = (isContinued || line.startsWith('$ ')) && line.endsWith('\\')
  }
  return steps
}

/** The paragraph that stands before a block, on one line. */
export function paragraphBefore(page: string, line: number): string {
  const above = page.split('\n').slice(0, line - 1)
  while (above.at(-1)?.trim() === '') above.pop()
  return above.slice(above.findLastIndex((text) => text.trim() === '') + 1).join(' ')
}

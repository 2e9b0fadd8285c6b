/** Terminals that a reader would have open: one that commands are typed into, and others in which a program goes on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const PATIENCE_MS = 60_000
/** Readers are not root. */
const SAID_TO_ROOT = /^ +! user .*\n/gm
/** What a terminal sends for the keys that a page shows. */
const KEYS: Readonly<Record<string, NodeJS.Signals>> = { '^C': 'SIGINT', '^\\': 'SIGQUIT' }

export const signalOf = (line: string): NodeJS.Signals | undefined => KEYS[line]

export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** A process group with its output, standard error among it, as a screen shows it. */
abstract class Screen {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #isClosed = false
  readonly #listeners = new Set<() => void>()
  protected text = ''

  constructor(command: readonly [string, ...string[]], { cwd, env }: Place) {
    const [file, ...args] = command
    this.#child = spawn(file, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.text = (this.text + chunk).replace(SAID_TO_ROOT, '')
        for (const listener of this.#listeners) listener()
      })
    this.#closed = once(this.#child, 'close').then(() => {
      this.#isClosed = true
      for (const listener of this.#listeners) listener()
    })
  }

  protected type(text: string): void {
    this.#child.stdin?.write(text)
  }

  /** Asks after each piece of output, and once more when there is no more to come. */
  protected async until<T>(ask: () => T | null, what: string): Promise<T> {
    const deadline = AbortSignal.timeout(PATIENCE_MS)
    const changed = () =>
      new Promise<void>((resolve) => {
        this.#listeners.add(resolve)
        deadline.addEventListener('abort', () => resolve(), { once: true })
      })
    for (;;) {
      const isLast = this.#isClosed
      const answer = ask()
      if (answer !== null) return answer
      if (isLast) throw new Error(`The program ended before ${what}\n--- It said:\n${this.text}`)
      if (deadline.aborted)
        throw new Error(`${PATIENCE_MS} ms passed before ${what}\n--- It said:\n${this.text}`)
      await changed()
      this.#listeners.clear()
    }
  }

  /** To the whole group, as a terminal does. */
  press(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid ?? 0), signal)
    } catch {
      // It has ended by itself.
    }
  }

  ended(): Promise<unknown> {
    return this.#closed
  }

  async close(): Promise<void> {
    this.press('SIGKILL')
    await this.#closed
  }
}

export interface Printed {
  readonly output: string
  readonly status: number
}

/** A shell that lives as long as the page: directories, variables and `$?` carry over from one command to the next. */
export class Shell extends Screen {
  #count = 0

  constructor(place: Place) {
    super(['/bin/sh', '-s'], place)
    this.type('exec 2>&1\n')
  }

  async run(command: string): Promise<Printed> {
    const mark = `--- command ${++this.#count} ended:`
    this.text = ''
    // Commands read nothing from the pipe that the shell itself reads from.
    this.type(
      `{ ${command}\n} </dev/null\nstatus=$?; printf '\\n%s %s.\\n' '${mark}' "$status"; (exit $status)\n`,
    )
    return this.until(() => {
      const end = new RegExp(`\\n${mark} (\\d+)\\.\\n`).exec(this.text)
      return end && { output: this.text.slice(0, end.index), status: Number(end[1]) }
    }, `“${command}” was done`)
  }
}

/** A program that goes on while the page does other things. */
export class Program extends Screen {
  #read = 0

  constructor(command: string, place: Place) {
    super(['/bin/sh', '-c', `exec 2>&1; ${command}`], place)
  }

  /** Waits until what was not read yet begins as `matched` wants it, which says how many lines that is. */
  async says(matched: (text: string) => number | null, what: string): Promise<void> {
    const lines = await this.until(() => matched(this.#unread()), `it said\n${what}`)
    this.#read += lines
  }

  #unread(): string {
    return this.text.split('\n').slice(this.#read).join('\n')
  }
}

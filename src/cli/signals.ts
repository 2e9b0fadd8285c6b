/**
 * Signals that ask the program to end. They are listened for from the very start: a program that is
 * killed while it brings up its database would leave it running.
 */
const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** One Ctrl-C under `npm start` arrives twice: from the terminal, and again from npm, which passes it on. */
const ECHO_MS = 500
const LAUNCHER_CHECK_MS = 500

export class Signals {
  readonly #listeners: ((name: string) => void)[] = []
  readonly #heard: string[] = []
  #lastAt = Number.NEGATIVE_INFINITY

  /**
   * npm and npx run the program below a shell. A signal to npm ends that shell, which does not pass it on: below npm
   * the end of the parent process counts as SIGTERM.
   */
  constructor(isBelowNpm: boolean) {
    for (const name of NAMES) process.on(name, () => this.#hear(name))
    if (isBelowNpm) this.#watchLauncher(process.ppid)
  }

  /** Ends the program as a signal would, for a reason of its own. */
  raise(reason: string): void {
    this.#hear(reason)
  }

  #watchLauncher(launcher: number): void {
    const timer = setInterval(() => {
      if (process.ppid === launcher) return
      clearInterval(timer)
      this.#hear('SIGTERM')
    }, LAUNCHER_CHECK_MS)
    timer.unref()
  }

  /** Those heard so far. */
  get count(): number {
    return this.#heard.length
  }

  /** Resolves with the name of the nth signal, at once when it was heard already. */
  nth(n: number): Promise<string> {
    return new Promise((resolve) => {
      const heard = this.#heard[n - 1]
      if (heard !== undefined) return resolve(heard)
      this.#listeners.push((name) => {
        if (this.count === n) resolve(name)
      })
    })
  }

  #hear(name: string): void {
    const now = performance.now()
    if (now - this.#lastAt < ECHO_MS) return
    this.#lastAt = now
    this.#heard.push(name)
    for (const listener of this.#listeners) listener(name)
  }
}

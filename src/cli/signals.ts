/**
 * Handles the signals that ask the program to stop. It listens from the start: a program killed while it starts its database
 * would leave the database running.
 */
const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Under `npm start`, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const ECHO_MS = 500
const LAUNCHER_CHECK_MS = 500

export class Signals {
  readonly #listeners: ((name: string) => void)[] = []
  readonly #heard: string[] = []
  #lastAt = Number.NEGATIVE_INFINITY

  /**
   * npm and npx run the program below a shell. A signal to npm ends that shell, which does not forward it. Therefore, if npm
   * started the program, the end of its parent process counts as SIGTERM.
   */
  constructor(isBelowNpm: boolean) {
    for (const name of NAMES) process.on(name, () => this.#hear(name))
    if (isBelowNpm) this.#watchLauncher(process.ppid)
  }

  /** Stops the program as a signal would, for the given reason. */
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

  /** Number of signals received so far. */
  get count(): number {
    return this.#heard.length
  }

  /** Resolves with the name of the nth signal; immediately if it was already received. */
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

/** A line that a handler wrote. */
export interface LogLine {
  readonly at: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
}

/** What is kept of an attempt's log, counted from its beginning. */
const MAX_LINES = 499
const MAX_CHARACTERS = 60_000
const MAX_LINE_CHARACTERS = 4_000
const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])

/** The lines of one attempt, up to a bound; the last one says how many were left out. */
export class RunLog {
  readonly #lines: LogLine[] = []
  #characters = 0
  #omitted = 0

  write(wanted: LogLine['level'], message: string): void {
    // Belfry would refuse another word, and all that is reported with it.
    const level = LEVELS.has(wanted) ? wanted : 'info'
    const text = String(message).slice(0, MAX_LINE_CHARACTERS)
    this.#characters += text.length
    if (this.#omitted > 0 || this.#lines.length >= MAX_LINES || this.#characters > MAX_CHARACTERS)
      this.#omitted++
    else this.#lines.push({ at: new Date().toISOString(), level, message: text })
  }

  get lines(): readonly LogLine[] {
    if (this.#omitted === 0) return this.#lines
    const message = `… ${this.#omitted} more lines omitted`
    return [...this.#lines, { at: new Date().toISOString(), level: 'warn', message }]
  }
}

/** Logs of runs as text, for files and terminals. Pure. */
import { utc } from '../values/utc.ts'
import type { LogLine } from './log-line.ts'

/** How the log is written as text. */
export interface LogTextOptions {
  /** Whether each line begins with the time at which it was written. */
  readonly hasTimes: boolean
  /** Whether a heading precedes the lines of each attempt except the first. */
  readonly hasAttempts: boolean
}

/** The members of a line that the text needs. */
export type TextLine = Pick<LogLine, 'attempt' | 'at' | 'stream' | 'text' | 'isPartial'>

/** Formats a log as text, page by page. Parts of a line are joined unless other lines come between them. */
export class LogText {
  readonly #options: LogTextOptions
  #attempt: number | null = null
  /** The stream whose last line is incomplete. */
  #open: LogLine['stream'] | null = null

  constructor(options: LogTextOptions) {
    this.#options = options
  }

  page(lines: readonly TextLine[]): string {
    return lines.map((line) => this.#line(line)).join('')
  }

  /** The rest of the text. */
  end(): string {
    return this.#open === null ? '' : '\n'
  }

  #line({ attempt, at, stream, text, isPartial }: TextLine): string {
    const { hasTimes, hasAttempts } = this.#options
    const isNewAttempt = this.#attempt !== null && attempt !== this.#attempt
    const isGoingOn = this.#open === stream && !isNewAttempt
    const before = this.#open !== null && !isGoingOn ? '\n' : ''
    const heading = hasAttempts && isNewAttempt ? `==> attempt ${attempt} <==\n` : ''
    const time = hasTimes && !isGoingOn ? `${utc(at)} ` : ''
    this.#attempt = attempt
    this.#open = isPartial ? stream : null
    return `${before}${heading}${time}${text}${isPartial ? '' : '\n'}`
  }
}

/**
 * Parses crontabs as cron does: those of a user, and those of the system, which have a column for the user. Variables apply to
 * the lines below them, a comment directly above a line names it, and a line that cron would reject is reported with its number
 * and the reason. Pure: crontab-task.ts decides what a line becomes.
 */
import { checkCron } from '../schedule/cron-fields.ts'
import { type When, whenOf } from './when.ts'

/** Maximum number of jobs in one crontab. */
export const MAX_ENTRIES = 1_000
/** Maximum length of a line; cron accepts no longer ones. */
const MAX_LINE_LENGTH = 10_000
const MAX_NAME_LENGTH = 200

/** One job. */
export interface CrontabEntry {
  readonly line: number
  /** The comment directly above the line. */
  readonly name: string | null
  /** The schedule as written: five fields, or an alias such as `@daily`. */
  readonly writtenWhen: string
  readonly when: When
  /** The user who runs the job, in a crontab of the system. */
  readonly user: string | null
  readonly command: string
  /** The text after the first `%`. */
  readonly stdin: string | null
  /** The variables that are set above the line. */
  readonly variables: Readonly<Record<string, string>>
}

/** A line that is not a valid job, and the reason. */
export interface LineProblem {
  readonly line: number
  readonly text: string
  readonly detail: string
}

/** The contents of a crontab. */
export interface Crontab {
  readonly isSystem: boolean
  readonly entries: readonly CrontabEntry[]
  readonly problems: readonly LineProblem[]
  /** Numbers of the lines that would be jobs without their leading `#`. */
  readonly commentedOut: readonly number[]
}

/** What the caller knows about a crontab. */
export interface CrontabOptions {
  /** Whether lines name a user. If absent, this is inferred from the lines. */
  readonly isSystem?: boolean | undefined
  /** Names of users of the machine, which identify a column of users. */
  readonly users?: ReadonlySet<string>
}

export function parseCrontab(text: string, options: CrontabOptions = {}): Crontab {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  const isSystem = options.isSystem ?? namesUsers(lines, options.users ?? new Set())
  const reader = new Reader(isSystem)
  for (const [index, line] of lines.entries()) reader.read(line, index + 1)
  return reader
}

const HEADING = /\bm\s+h\s+dom\s+mon\s+dow\b|command to be executed/i
const HEADING_WITH_USER = /\bdow\s+user\b|\buser-name\b/i
const VARIABLE = /^(?:"([^"]*)"|'([^']*)'|([^\s=]+))\s*=\s*(.*)$/
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

class Reader implements Crontab {
  readonly entries: CrontabEntry[] = []
  readonly problems: LineProblem[] = []
  readonly commentedOut: number[] = []
  readonly isSystem: boolean
  #variables: Readonly<Record<string, string>> = {}
  #name: string | null = null

  constructor(isSystem: boolean) {
    this.isSystem = isSystem
  }

  read(raw: string, line: number): void {
    const text = raw.trim()
    const name = this.#name
    this.#name = null
    const refuse = (detail: string) => this.problems.push({ line, text: text.slice(0, 200), detail })
    if (text === '') return
    if (text.length > MAX_LINE_LENGTH || text.includes('\0'))
      refuse(`must be text of at most ${MAX_LINE_LENGTH} characters`)
    else if (text.startsWith('#')) this.#readComment(text, line)
    else if (VARIABLE.test(text)) this.#readVariable(text, refuse)
    else if (this.entries.length === MAX_ENTRIES) refuse(`exceeds the limit of ${MAX_ENTRIES} jobs`)
    else this.#readEntry(text, { line, name, refuse })
  }

  #readComment(text: string, line: number): void {
    const said = text.replace(/^#+\s*/, '').trim()
    if (HEADING.test(said)) return
    const columns = columnsOf(said, this.isSystem)
    if (columns !== null && isSchedule(columns.when)) this.commentedOut.push(line)
    else if (/\p{L}/u.test(said)) this.#name = said.slice(0, MAX_NAME_LENGTH)
  }

  #readVariable(text: string, refuse: (detail: string) => void): void {
    const [, double, single, bare, value = ''] = VARIABLE.exec(text) ?? []
    const name = double ?? single ?? bare ?? ''
    if (!NAME.test(name)) {
      refuse(`sets '${name.slice(0, 40)}'; a name consists of letters, digits and underscores`)
      return
    }
    this.#variables = { ...this.#variables, [name]: unquoted(value) }
  }

  #readEntry(text: string, { line, name, refuse }: Place): void {
    const columns = columnsOf(text, this.isSystem)
    if (columns === null) {
      refuse(this.isSystem ? `${NO_JOB} a user and a command` : `${NO_JOB} a command`)
      return
    }
    const { when: writtenWhen, user, rest } = columns
    const when = whenOf(writtenWhen)
    if (when.kind === 'wrong') {
      for (const detail of when.details) refuse(detail)
      return
    }
    const variables = this.#variables
    this.entries.push({ line, name, writtenWhen, when, user, ...commandOf(rest), variables })
  }
}

const NO_JOB = 'is not a job; a job has five fields or an alias such as @daily, followed by'

interface Place {
  readonly line: number
  readonly name: string | null
  readonly refuse: (detail: string) => void
}

interface Columns {
  readonly when: string
  readonly user: string | null
  readonly rest: string
}

/** The columns of a line that may be a job; null if there are too few. A leading `-` only keeps the job out of syslog. */
function columnsOf(text: string, isSystem: boolean): Columns | null {
  const [, when = '', after = ''] = /^-?(@\S+|(?:\S+\s+){4}\S+)\s+(.+)$/s.exec(text) ?? []
  if (!isSystem) return after === '' ? null : { when: when.replace(/\s+/g, ' '), user: null, rest: after }
  const [, user = '', rest = ''] = /^(\S+)\s+(.+)$/s.exec(after) ?? []
  return rest === '' ? null : { when: when.replace(/\s+/g, ' '), user, rest }
}

const isSchedule = (when: string) => when === '@reboot' || checkCron(when).ok

/** An unescaped `%` ends the command. The text after it is the standard input, in which every further `%` is a line break. */
function commandOf(text: string): { command: string; stdin: string | null } {
  const [command = '', ...input] = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'))
  if (input.length === 0) return { command, stdin: null }
  return { command: command.trimEnd(), stdin: input.join('\n').replace(/(?<=[^\n])$/, '\n') }
}

const unquoted = (value: string): string => /^(["'])(.*)\1$/.exec(value)?.[2] ?? value

/** Whether a heading announces a column of users, or every line has the name of a user in that place. */
function namesUsers(lines: readonly string[], users: ReadonlySet<string>): boolean {
  const texts = lines.map((line) => line.trim())
  if (texts.some((text) => text.startsWith('#') && HEADING_WITH_USER.test(text))) return true
  const jobs = texts.filter((text) => text !== '' && !text.startsWith('#') && !VARIABLE.test(text))
  return jobs.length > 0 && jobs.every((text) => users.has(columnsOf(text, true)?.user ?? ''))
}

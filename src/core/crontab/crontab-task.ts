/**
 * Converts a line of a crontab into a task, and lists what the task does not preserve. The task behaves as the line did under
 * cron: each occurrence runs at most once, runs may overlap, missed occurrences are skipped, and no run is ended before the
 * longest possible timeout.
 */
import type { ExecAction } from '../action/action.ts'
import { hashOf } from '../schedule/hash.ts'
import type { CronSchedule } from '../schedule/schedule.ts'
import { zoneProblem } from '../schedule/zone.ts'
import { spellZone } from '../schedule/zone-names.ts'
import type { TaskInput } from '../task/task-input.ts'
import { AS_UNDER_CRON } from './as-under-cron.ts'
import type { CrontabEntry } from './parse-crontab.ts'

/** Settings that apply to all lines. */
export interface ImportSettings {
  /** The zone of lines without CRON_TZ. */
  readonly timezone: string
  /** Prefix of the keys, so that the same line on two machines becomes two tasks. */
  readonly prefix: string
  /** Labels that a worker must offer. */
  readonly labels: readonly string[]
  readonly retries: number
  readonly timeout: string
}

/** A property of a line that the task does not preserve exactly. */
export interface ImportNote {
  readonly about: 'mail' | 'user' | 'environment' | 'schedule' | 'secret'
  readonly note: string
}

/** The task made from a line. */
export interface ImportedTask {
  readonly line: number
  readonly input: TaskInput & { readonly key: string; readonly schedule: CronSchedule }
  readonly notes: readonly ImportNote[]
}

/** A line that cannot become a task, and why. */
export interface LeftOut {
  readonly line: number
  readonly text: string
  readonly reason: string
}

/** The result of converting all lines. */
export interface ImportPlan {
  readonly tasks: readonly ImportedTask[]
  readonly leftOut: readonly LeftOut[]
}

export const tagOf = (prefix: string): string => `crontab:${prefix}`.slice(0, 100)

/** Converts all lines. Lines with the same command get different keys. */
export function planImport(entries: readonly CrontabEntry[], settings: ImportSettings): ImportPlan {
  const tasks: ImportedTask[] = []
  const leftOut: LeftOut[] = []
  const counts = new Map<string, number>()
  for (const entry of entries) {
    const { line, when, writtenWhen, command } = entry
    const zone = zoneFor(entry, settings)
    const problem = zoneProblem(zone)
    if (when.kind === 'cron' && problem === null) {
      const base = keyOf(entry, settings.prefix)
      const count = (counts.get(base) ?? 0) + 1
      counts.set(base, count)
      const key = count === 1 ? base : `${base}-${count}`
      tasks.push(taskOf(entry, { key, expression: when.expression, timezone: spellZone(zone), settings }))
    } else {
      const reason = when.kind === 'unsupported' ? when.reason : `CRON_TZ ${problem}`
      leftOut.push({ line, text: `${writtenWhen} ${command}`, reason })
    }
  }
  return { tasks, leftOut }
}

const zoneFor = ({ variables }: CrontabEntry, { timezone }: ImportSettings) =>
  (variables['CRON_TZ'] ?? timezone).replace(/^:/, '')

/** The key follows from the command and not from its time, so a line whose time is changed remains the same task. */
function keyOf({ command, stdin, user }: CrontabEntry, prefix: string): string {
  const hash = hashOf([user ?? '', command, stdin ?? ''].join('\n'))
    .toString(16)
    .padStart(8, '0')
  const word = wordFor(command)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, 40)
  return `${prefix}:${word}-${hash}`
}

/** The short name of a command: the name of its program. */
const wordFor = (command: string): string => command.split(/\s+/)[0]?.split('/').at(-1) ?? ''

interface TaskOptions {
  readonly key: string
  readonly expression: string
  readonly timezone: string
  readonly settings: ImportSettings
}

function taskOf(entry: CrontabEntry, { key, expression, timezone, settings }: TaskOptions): ImportedTask {
  const { line, name, user, command, stdin, variables } = entry
  const { labels, retries, timeout, prefix } = settings
  const env = environmentOf(variables)
  const jitter = delayOf(variables)
  const action: ExecAction = {
    type: 'exec',
    command: variables['SHELL'] || '/bin/sh',
    args: ['-c', command],
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(stdin === null ? {} : { stdin }),
    network: true,
  }
  const input = {
    key,
    name: name ?? command.slice(0, 200),
    tags: [tagOf(prefix)],
    ...ownerOf(variables),
    action,
    schedule: { type: 'cron', expression, timezone },
    ...(jitter === null ? {} : { jitter }),
    retry: { limit: retries },
    timeout,
    ...AS_UNDER_CRON,
    ...(labels.length === 0 ? {} : { labels }),
    ...(user === null ? {} : { metadata: { crontab: { user } } }),
  } as const
  return { line, input, notes: notesOn(entry) }
}

/** Variables that cron itself uses. */
const OF_CRON: readonly string[] = [
  ...['SHELL', 'CRON_TZ', 'RANDOM_DELAY', 'LOGNAME', 'USER'],
  ...['MAILTO', 'MAILFROM', 'CONTENT_TYPE', 'CONTENT_TRANSFER_ENCODING'],
]
const isOfBelfry = (name: string) => name.startsWith('BELFRY_')

/** The environment of the program. No PATH is added: cron's default, /usr/bin:/bin, is part of Belfry's default. */
function environmentOf(variables: CrontabEntry['variables']): Record<string, string> {
  const kept = Object.entries(variables).filter(([name]) => !OF_CRON.includes(name) && !isOfBelfry(name))
  return Object.fromEntries(kept)
}

/** Maximum length of a task's owner. */
const MAX_OWNER_CHARACTERS = 200

/**
 * The address that received the mail of a job becomes the owner of its task, by which lists, dead letters and subscriptions can
 * be filtered.
 */
const ownerOf = ({ MAILTO: mailto = '' }: CrontabEntry['variables']): { readonly owner?: string } =>
  mailto === '' || mailto.length > MAX_OWNER_CHARACTERS ? {} : { owner: mailto }

/** RANDOM_DELAY is a number of minutes. */
function delayOf({ RANDOM_DELAY: delay = '' }: CrontabEntry['variables']): string | null {
  return /^[1-9]\d{0,2}$/.test(delay) ? `${delay}m` : null
}

const LOOKS_SECRET = /PASS|SECRET|TOKEN|(^|_)KEY$|CREDENTIAL/i

function notesOn({ user, variables, writtenWhen }: CrontabEntry): ImportNote[] {
  const notes: ImportNote[] = []
  const note = (about: ImportNote['about'], text: string) => notes.push({ about, note: text })
  const { MAILTO: mailto = '', TZ: zone } = variables
  const { owner } = ownerOf(variables)
  if (mailto !== '')
    note(
      'mail',
      `MAILTO=${mailto}${owner === undefined ? '' : ' becomes the owner'}: Belfry does not mail output. To read it: belfry run logs. To list failures: belfry dead-letter list. To send them to a URL: belfry subscription create URL --state permanently_failed${owner === undefined ? '' : ` --owner '${owner.replaceAll("'", "'\\''")}'`}`,
    )
  if (user !== null) note('user', `user ${user}: Belfry runs programs as a separate user, not as ${user}`)
  if (zone !== undefined && variables['CRON_TZ'] === undefined)
    note('environment', `TZ=${zone} is set for the command. As under cron, it does not affect the schedule`)
  if (/~/.test(writtenWhen)) note('schedule', '~ becomes H: a random value that is chosen once for the task')
  for (const name of Object.keys(variables))
    if (isOfBelfry(name)) note('environment', `${name} is left out: Belfry sets the variables BELFRY_*`)
    else if (LOOKS_SECRET.test(name))
      note(
        'secret',
        `${name} looks like a secret and would be readable in the task; store it with belfry secret set ${name}, then set env.${name} to {{secret.${name}}}`,
      )
  return notes
}

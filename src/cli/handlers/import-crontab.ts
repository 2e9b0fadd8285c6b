/**
 * Imports the jobs of a crontab as tasks: prints the interpretation, asks for confirmation, and creates all new tasks in one
 * transaction.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Task } from '../../api/resources/tasks/schemas.ts'
import type { Action, ExecAction } from '../../core/action/action.ts'
import { maskedAction } from '../../core/action/masked-action.ts'
import { type ImportedTask, planImport, tagOf } from '../../core/crontab/crontab-task.ts'
import { parseCrontab } from '../../core/crontab/parse-crontab.ts'
import { describeSchedule } from '../../core/schedule/describe.ts'
import { occurrencesBetween } from '../../core/schedule/occurrences.ts'
import { zoneProblem } from '../../core/schedule/zone.ts'
import { utc } from '../../core/values/utc.ts'
import { confirm } from '../client/confirm.ts'
import { type CrontabPlan, type PlannedTask, planText } from '../client/crontab-words.ts'
import { readText } from '../client/file-flag.ts'
import { readNumber, usage } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom, write } from '../client/output.ts'
import { readPages } from '../client/pages.ts'
import { counted } from '../client/printed.ts'
import { missingWorker, programWorkers } from '../client/program-workers.ts'
import { naming } from '../client/refusal.ts'
import { machineZone } from '../client/schedule-flags.ts'
import type { Server } from '../client/server.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const MAX_TASKS = 10_000
const NEXT_TOLD = 3

interface ImportFlags extends ClientFlags {
  readonly system?: boolean
  readonly timezone?: string
  readonly prefix?: string
  readonly label?: readonly string[]
  readonly retries?: string
  readonly timeout?: string
  readonly paused?: boolean
  readonly skipInvalid?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export async function importCrontab(file: string, flags: ImportFlags): Promise<void> {
  const server = serverFrom(flags)
  const { prefix, timezone } = namesFrom(flags)
  const text = await readText(file)
  const crontab = parseCrontab(text, { isSystem: flags.system ?? isOfSystem(file), users: usersHere() })
  const { tasks, leftOut } = planImport(crontab.entries, {
    ...{ timezone, prefix, labels: flags.label ?? [] },
    retries: (flags.retries === undefined ? 0 : readNumber(flags.retries)) as number,
    timeout: flags.timeout ?? '1d',
  })
  const existing = await existingTasks(server, prefix, flags)
  const { isSystem, problems, commentedOut } = crontab
  const plan: CrontabPlan = {
    ...{ isSystem, timezone, prefix },
    tasks: tasks.map((task) => planned(task, existing.get(task.input.key), server.now())),
    ...{ leftOut, problems, commentedOut, noLongerThere: withoutLine(existing, tasks) },
    missing: await missingFor(server, tasks, flags),
  }
  const isForPeople = !flags.json && flags.field === undefined
  if (isForPeople) write(planText(plan, { now: server.now(), isZoneAssumed: flags.timezone === undefined }))
  if (problems.length > 0 && !flags.skipInvalid) throw invalidLines(plan, isForPeople)
  if (flags.dryRun) {
    give(plan, flags, () => 'Nothing was created: --dry-run\n')
    return
  }
  const changes = plan.tasks.filter(({ change }) => change !== 'none')
  if (changes.length > 0) await confirm(questionFor(changes), flags)
  const applied = await apply(server, plan.tasks, { existing, isPaused: flags.paused === true })
  give({ ...plan, tasks: applied }, flags, () =>
    doneText(applied, { prefix, isPaused: flags.paused === true }),
  )
}

function namesFrom({ timezone = machineZone(), prefix = hostname() }: ImportFlags) {
  const problem = zoneProblem(timezone)
  if (problem !== null) throw usage(`--timezone is '${timezone}'; it ${problem}.`)
  if (!/^[A-Za-z0-9._-]{1,60}$/.test(prefix))
    throw usage(`--prefix is '${prefix}'; it must be 1 to 60 letters, digits, dots, dashes or underscores.`)
  return { timezone, prefix }
}

/** Whether the path is a system crontab, which has a user column; undefined if the lines must be examined. */
function isOfSystem(file: string): true | undefined {
  const path = resolve(file)
  return path === '/etc/crontab' || dirname(path) === '/etc/cron.d' ? true : undefined
}

function usersHere(): ReadonlySet<string> {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
    return new Set(lines.map((line) => line.split(':')[0] ?? '').filter((name) => name !== ''))
  } catch {
    return new Set()
  }
}

type Existing = ReadonlyMap<string, Task>

/** Returns the tasks of an earlier import, by key. */
async function existingTasks(server: Server, prefix: string, flags: ImportFlags): Promise<Existing> {
  const listed = await unlessDryRun(flags, () =>
    readPages<Task>(server, '/v1/tasks', { tag: tagOf(prefix) }, MAX_TASKS),
  )
  if (listed === null) remark(`Cannot reach a Belfry server at ${server.url}. All tasks are shown as new.\n`)
  return new Map((listed?.items ?? []).map((task) => [task.key ?? task.id, task]))
}

/** Returns sentences about why no worker can run the jobs yet. */
async function missingFor(
  server: Server,
  tasks: readonly ImportedTask[],
  flags: ImportFlags,
): Promise<readonly string[]> {
  const workers = await unlessDryRun(flags, () => programWorkers(server))
  if (workers === null) return []
  const shells = new Set(tasks.map(({ input }) => (input.action as ExecAction).command ?? null))
  return [...shells].flatMap(
    (command) => missingWorker(workers, { command, labels: flags.label ?? [] }) ?? [],
  )
}

/** A dry run works without a server: returns null if the server cannot be reached. */
async function unlessDryRun<T>({ dryRun }: ImportFlags, ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (dryRun && error instanceof CliError && error.exitCode === EXIT.unreachable) return null
    throw error
  }
}

function withoutLine(existing: Existing, tasks: readonly ImportedTask[]): CrontabPlan['noLongerThere'] {
  const keys = new Set(tasks.map(({ input }) => input.key))
  return [...existing.values()].flatMap(({ id, key, name, state }) =>
    keys.has(key ?? '') || state === 'cancelled' ? [] : [{ id, key, name }],
  )
}

function planned({ line, input, notes }: ImportedTask, existing: Task | undefined, now: number): PlannedTask {
  const { key, schedule } = input
  const plan = { schedule, startAt: null, endAt: null, anchorAt: now, seed: key }
  const next = [...occurrencesBetween(plan, now, Number.POSITIVE_INFINITY, NEXT_TOLD)].map(utc)
  const change = existing === undefined ? 'create' : hasChanged(input, existing) ? 'update' : 'none'
  return { line, change, task: input, scheduleInWords: describeSchedule(schedule, key), next, notes }
}

/** Returns the fields that a crontab determines. Other settings of the task, such as limits and retries, are kept. */
function editFrom(input: ImportedTask['input'], existing: Task) {
  const { env: _, stdin: __, ...before } = existing.action as Extract<Action, { type: 'exec' }>
  const { network: ___, ...said } = input.action as Extract<Action, { type: 'exec' }>
  return {
    action: { ...before, ...said } as Action,
    schedule: input.schedule,
    jitter: input.jitter ?? null,
  }
}

/** Whether the crontab changes the task. The server masks secrets in responses, so secrets are not compared. */
function hasChanged(input: ImportedTask['input'], existing: Task): boolean {
  const { action, schedule, jitter } = editFrom(input, existing)
  return !isDeepStrictEqual(
    { action: maskedAction(action), schedule, jitter },
    { action: existing.action, schedule: existing.schedule, jitter: existing.jitter },
  )
}

type Applied = PlannedTask & { readonly id: string | null }

/**
 * Creates all new tasks or none, in one request. Then updates the existing tasks one by one; the server creates no new version
 * for an unchanged task.
 */
async function apply(
  server: Server,
  tasks: readonly PlannedTask[],
  { existing, isPaused }: { readonly existing: Existing; readonly isPaused: boolean },
): Promise<Applied[]> {
  const created = await create(
    server,
    tasks.filter(({ change }) => change === 'create'),
    { isPaused },
  )
  const applied: Applied[] = []
  for (const planned of tasks) {
    const before = existing.get(planned.task.key)
    if (before === undefined) applied.push({ ...planned, id: created.get(planned.task.key) ?? null })
    else {
      const body = editFrom(planned.task, before)
      const { data } = await server.ask<Task>('PATCH', `/v1/tasks/${before.id}`, { body })
      applied.push({ ...planned, id: before.id, change: data.version === before.version ? 'none' : 'update' })
    }
  }
  return applied
}

async function create(
  server: Server,
  tasks: readonly PlannedTask[],
  { isPaused }: { readonly isPaused: boolean },
): Promise<ReadonlyMap<string, string>> {
  if (tasks.length === 0) return new Map()
  const { items } = await naming(
    (pointer) => placeIn(tasks, pointer),
    'belfry import crontab --help',
    () =>
      server.post<{ items: Task[] }>('/v1/tasks/bulk', {
        tasks: tasks.map(({ task }) => (isPaused ? { ...task, paused: true } : task)),
      }),
  )
  return new Map(items.map(({ id, key }) => [key ?? '', id]))
}

/** Converts `/tasks/3/action/env` to the line of the crontab. */
function placeIn(tasks: readonly PlannedTask[], pointer: string): string {
  const [, , index = '', ...rest] = pointer.split('/')
  const line = tasks[Number(index)]?.line
  return line === undefined ? pointer : `line ${line}, ${rest.join('.')}`
}

function invalidLines({ problems }: CrontabPlan, isToldAlready: boolean): CliError {
  const lines = new Set(problems.map(({ line }) => line)).size
  const why = problems.map(({ line, detail }) => `line ${line} ${detail}`)
  return new CliError(
    `${counted(lines, 'line')} cannot be read; nothing was created.`,
    'Correct the crontab, or import only the other lines: --skip-invalid',
    EXIT.usage,
    isToldAlready ? {} : { why },
  )
}

const countOf = (tasks: readonly PlannedTask[], wanted: PlannedTask['change']) =>
  tasks.filter(({ change }) => change === wanted).length

function questionFor(tasks: readonly PlannedTask[]): string {
  const [created, updated] = [countOf(tasks, 'create'), countOf(tasks, 'update')]
  const create = created > 0 ? `Create ${counted(created, 'task')}` : ''
  const change = updated > 0 ? `${created > 0 ? ' and change' : 'Change'} ${counted(updated, 'task')}` : ''
  return `${create}${change}?`
}

function doneText(
  tasks: readonly Applied[],
  { prefix, isPaused }: { prefix: string; isPaused: boolean },
): string {
  const [created, updated] = [countOf(tasks, 'create'), countOf(tasks, 'update')]
  const said = [
    ...(created > 0 ? [`${counted(created, 'task')} created${isPaused ? ' and paused' : ''}`] : []),
    ...(updated > 0 ? [`${counted(updated, 'task')} changed`] : []),
  ]
  if (said.length === 0) return `${c.green('✓')} nothing to change\n`
  const resume = `belfry task list --tag ${tagOf(prefix)} --field id | xargs -n 1 belfry task resume`
  const next = isPaused
    ? `  Disable these lines in the crontab, then resume the tasks: ${resume}\n`
    : '  These lines still run under cron as well. Disable them there now: crontab -e\n'
  return `${c.green('✓')} ${said.join(', ')}\n${created > 0 ? next : ''}`
}

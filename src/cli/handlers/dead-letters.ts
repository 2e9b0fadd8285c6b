import type { z } from 'zod'
import type {
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroups,
  Dismissed,
  Redrive,
  RedriveForecast,
} from '../../api/resources/dead-letters/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { findTask } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { findRunId } from '../client/id-prefix.ts'
import { instantAgo } from '../client/instant-flag.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit } from '../client/pages.ts'
import { counted, cut, table } from '../client/printed.ts'
import { ProgressLine } from '../client/progress-line.ts'
import { namingAll } from '../client/refusal.ts'
import { queryOf, type Server } from '../client/server.ts'
import { untilEnded } from '../client/until-ended.ts'
import { EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

type Group = z.output<typeof DeadLetterGroup>

const WHAT_WIDTH = 60

/** Filters for dead letters: all given filters must match. */
export interface WhichFlags extends ClientFlags {
  readonly task?: string
  readonly fingerprint?: string
  readonly since?: string
  readonly from?: string
  readonly to?: string
}

export async function listDeadLetters(
  flags: WhichFlags & { readonly by?: string; readonly limit: string },
): Promise<void> {
  const server = serverFrom(flags)
  const query = queryOf({ by: flags.by, ...(await filterOf(server, flags)), limit: readLimit(flags.limit) })
  const groups = await server.get<z.output<typeof DeadLetterGroups>>(`/v1/dead-letters/groups${query}`)
  if (groups.items.length === 0 && !flags.json) return remark('No dead letters found.\n')
  give(groups.items, flags, () => groupTable(groups.items, server.now()))
  if (!groups.isComplete) remark('Only the latest dead letters were examined; there are more.\n')
}

function groupTable(groups: readonly Group[], now: number): string {
  return table(
    ['RUNS', 'TASKS', 'WHAT', 'FIRST', 'LAST', 'FINGERPRINT'],
    groups.map(({ key, count, tasks, taskName, taskId, pattern, code, sample, firstAt, lastAt }) => [
      String(count),
      tasks === 1 ? cut(printable(taskName ?? taskId ?? '1'), WHAT_WIDTH / 2) : String(tasks),
      cut(printable(sample.message ?? pattern ?? code ?? '–'), WHAT_WIDTH),
      formatDistance(Date.parse(firstAt), now),
      formatDistance(Date.parse(lastAt), now),
      key,
    ]),
  )
}

/** Flags for rerunning or dismissing dead letters. */
export interface RedriveFlags extends WhichFlags {
  readonly run?: readonly string[]
  readonly rate?: string
  readonly dryRun?: boolean
  readonly wait?: boolean
  readonly yes?: boolean
}

export async function redriveDeadLetters(flags: RedriveFlags): Promise<void> {
  const server = serverFrom(flags)
  const filter = await letterFilter(server, flags)
  const rate = flags.rate === undefined ? undefined : readNumber(flags.rate.replace(/\/s$/, ''))
  const ask = <T>(dryRun: boolean) =>
    namingAll('belfry dead-letter redrive --help', () =>
      server.post<T>('/v1/dead-letters/redrive', { filter, rate, dryRun }),
    )
  if (flags.dryRun) {
    const forecast = await ask<z.output<typeof RedriveForecast>>(true)
    return give(forecast, flags, () => forecastText(forecast))
  }
  if (Object.keys(filter).length === 0) await confirm('Rerun all dead letters?', flags)
  const begun = await ask<Redrive>(false)
  const redrive = flags.wait ? await ended(server, begun) : begun
  give(redrive, flags, () => redriveText(redrive))
  if (flags.wait && redrive.state !== 'completed') process.exitCode = EXIT.runFailed
}

const ended = (server: Server, begun: Redrive): Promise<Redrive> =>
  untilEnded(begun, {
    ask: () => server.get<Redrive>(`/v1/dead-letters/redrives/${begun.id}`),
    tell: ({ redriven, refused, waiting }) =>
      `${redriven} rerun, ${refused} refused, ${waiting} waiting for other runs of their task`,
  })

export async function dismissDeadLetters(flags: RedriveFlags): Promise<void> {
  const server = serverFrom(flags)
  const filter = await letterFilter(server, flags)
  if (!flags.dryRun)
    await confirm(
      Object.keys(filter).length === 0
        ? 'Dismiss all dead letters?'
        : 'Dismiss all matching dead letters? To count them first: --dry-run.',
      flags,
    )
  const { dryRun } = flags
  const dismissed = await namingAll('belfry dead-letter dismiss --help', () =>
    dismissAll(server, { filter, dryRun }),
  )
  give(dismissed, flags, () => {
    const [mark, words] = dryRun ? ['', 'would be dismissed'] : [`${c.green('✓')} `, 'dismissed']
    const more = dismissed.isComplete ? '' : '; there may be more, so repeat the command'
    return `${mark}${counted(dismissed.count, 'dead letter')} ${words}${more}\n`
  })
}

/** Repeats the request until all are dismissed or counted. An older server does not report where to continue. */
async function dismissAll(server: Server, body: object): Promise<z.output<typeof Dismissed>> {
  const line = new ProgressLine()
  let count = 0
  let cursor: string | undefined
  for (;;) {
    const done = await server.post<z.output<typeof Dismissed>>('/v1/dead-letters/dismiss', {
      ...body,
      cursor,
    })
    count += done.count
    if (!done.nextCursor) {
      line.end()
      return { ...done, count }
    }
    cursor = done.nextCursor
    line.show(`${counted(count, 'dead letter')} so far`)
  }
}

async function letterFilter(server: Server, flags: RedriveFlags): Promise<DeadLetterFilter> {
  const { run } = flags
  const runIds =
    run === undefined ? {} : { runIds: await Promise.all(run.map((id) => findRunId(server, id))) }
  const given = Object.entries(await filterOf(server, flags)).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), ...runIds }
}

async function filterOf(server: Server, flags: WhichFlags) {
  const { task, fingerprint, since, to } = flags
  const taskId = task === undefined ? undefined : (await findTask(server, task)).id
  return { taskId, fingerprint, from: since === undefined ? flags.from : instantAgo(since, server), to }
}

function forecastText({ count, endedTasks, isComplete }: z.output<typeof RedriveForecast>): string {
  const whose = endedTasks === 1 ? 'its task has' : 'their tasks have'
  const ended = endedTasks === 0 ? '' : `; ${endedTasks} cannot be rerun because ${whose} ended`
  return `${isComplete ? '' : 'at least '}${counted(count - endedTasks, 'dead letter')} would be rerun${ended}\n`
}

function redriveText({ id, state, rate, redriven, refused }: Redrive): string {
  if (state === 'running')
    return `${c.green('✓')} dead letters are being rerun, ${rate} per second\n  id  ${id}\n`
  const mark = state === 'completed' ? c.green('✓') : c.red('✕')
  return `${mark} redrive ${state}: ${redriven} rerun, ${refused} refused\n  id  ${id}\n`
}

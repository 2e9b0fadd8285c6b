import type { Queue } from '../../api/resources/queues/schemas.ts'
import type { Run } from '../../api/resources/runs/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { rateWords } from '../../core/words/target.ts'
import { formatDistance } from '../../core/words/time.ts'
import { readNumber, usage } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table, waitingWords } from '../client/printed.ts'
import { naming } from '../client/refusal.ts'
import { runTable } from '../client/run-words.ts'
import { onStdout as c } from '../terminal.ts'

const NAME_WIDTH = 40

interface ListFlags extends ClientFlags {
  readonly search?: string
  readonly limit: string
}

export async function listQueues(flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const { search } = flags
  const listed = await readPages<Queue>(server, '/v1/queues', { q: search }, readLimit(flags.limit))
  if (listed.items.length === 0 && !flags.json)
    return remark(
      search === undefined
        ? 'There are no queues yet. A queue is created when a task first names it with --queue.\n'
        : `No queue name contains '${printable(search)}'.\n`,
    )
  give(listed.items, flags, () => queueTable(listed.items, server.now()))
  remarkMore(listed)
}

export async function showQueue(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const queue = await ask(name, 'show', () => server.get<Queue>(pathOf(name)))
  give(queue, flags, () => queueText(queue, server.now()))
}

export async function listWaitingRuns(name: string, flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const limit = readLimit(flags.limit)
  const listed = await ask(name, 'runs', () => readPages<Run>(server, `${pathOf(name)}/runs`, {}, limit))
  if (listed.items.length === 0 && !flags.json)
    return remark(`No runs are waiting in queue ${printable(name)}.\n`)
  give(listed.items, flags, () => runTable(listed.items, server.now()))
  remarkMore(listed)
}

export async function pauseQueue(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const queue = await ask(name, 'pause', () => server.post<Queue>(`${pathOf(name)}/pause`))
  give(queue, flags, () => {
    const undo = `belfry queue resume ${printable(queue.name)}`
    return `${c.green('✓')} queue ${printable(queue.name)} paused; to resume: ${undo}\n`
  })
}

export async function resumeQueue(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const queue = await ask(name, 'resume', () => server.post<Queue>(`${pathOf(name)}/resume`))
  give(
    queue,
    flags,
    () => `${c.green('✓')} queue ${printable(queue.name)} resumed; ${waitingWords(queue)} waiting\n`,
  )
}

interface LimitFlags extends ClientFlags {
  readonly rate?: string
  readonly burst?: string
}

export async function limitQueue(name: string, limit: string | undefined, flags: LimitFlags): Promise<void> {
  const { rate, burst } = flags
  if (limit === undefined && rate === undefined && burst === undefined)
    throw usage('Give a number of runs, --rate or --burst.', 'belfry queue limit --help')
  const server = serverFrom(flags)
  const body = {
    ...(limit === undefined ? {} : { concurrencyLimit: isNone(limit) ? null : readNumber(limit) }),
    ...(rate === undefined ? {} : { rate: isNone(rate) ? null : rate }),
    ...(burst === undefined ? {} : { burst: isNone(burst) ? null : readNumber(burst) }),
  }
  const { data: queue } = await ask(name, 'limit', () => server.ask<Queue>('PATCH', pathOf(name), { body }))
  give(queue, flags, () => {
    const rated = queue.rate === null ? '' : `; rate: ${rateOf(queue)}`
    return `${c.green('✓')} queue ${printable(queue.name)}: ${limitWords(queue)}${rated}\n`
  })
}

const isNone = (text: string) => text === 'none' || text === ''

const pathOf = (name: string) => `/v1/queues/${encodeURIComponent(name)}`

const PLACES: Readonly<Record<string, string>> = {
  '/concurrencyLimit': 'the limit',
  '/rate': '--rate',
  '/burst': '--burst',
}

/** Reports validation errors with the names of the arguments. */
const ask = <T>(name: string, verb: string, work: () => Promise<T>): Promise<T> =>
  naming(
    (pointer) => PLACES[pointer] ?? `the queue '${printable(name)}'`,
    `belfry queue ${verb} --help`,
    work,
    'To list queues: belfry queue list',
  )

function queueTable(queues: readonly Queue[], now: number): string {
  return table(
    ['NAME', 'STATE', 'WAITING', 'OLDEST', 'RUNNING', 'LIMIT', 'RATE'],
    queues.map((queue) => [
      cut(printable(queue.name), NAME_WIDTH),
      stateOf(queue),
      waitingWords(queue),
      oldestWords(queue, now),
      queue.running === null ? '–' : String(queue.running),
      queue.concurrencyLimit === null ? '–' : String(queue.concurrencyLimit),
      queue.rate ?? '–',
    ]),
  )
}

function queueText(queue: Queue, now: number): string {
  return `queue ${printable(queue.name)}  ${stateOf(queue)}\n${facts([
    [
      'waiting',
      `${waitingWords(queue)}${queue.oldest === null ? '' : `, the oldest ${oldestWords(queue, now)}`}`,
    ],
    ['limit', limitWords(queue)],
    ['rate', rateOf(queue)],
    ...(queue.running === null ? [] : [['running', String(queue.running)] as const]),
    ...(queue.pausedAt === null
      ? []
      : [['paused', formatDistance(Date.parse(queue.pausedAt), now)] as const]),
  ])}`
}

const rateOf = ({ rate, burst }: Queue) => rateWords({ limit: rate, burst })

const stateOf = ({ isPaused }: Queue) => (isPaused ? c.yellow('paused') : c.green('open'))

const oldestWords = ({ oldest }: Queue, now: number) =>
  oldest === null ? '–' : formatDistance(Date.parse(oldest), now)

const limitWords = ({ concurrencyLimit }: Queue) =>
  concurrencyLimit === null ? 'no limit' : `at most ${concurrencyLimit} in progress at once`

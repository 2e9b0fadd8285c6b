import type { Target } from '../../api/resources/targets/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { quoted } from '../../core/why/why.ts'
import { limitWords, rateWords, targetStateWords } from '../../core/words/target.ts'
import { formatDistance, formatDuration } from '../../core/words/time.ts'
import { readNumber, usage } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table, waitingWords } from '../client/printed.ts'
import { naming } from '../client/refusal.ts'
import { onStdout as c } from '../terminal.ts'

const NAME_WIDTH = 50

interface ListFlags extends ClientFlags {
  readonly search?: string
  readonly state?: string
  readonly limit: string
}

export async function listTargets(flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const { search, state } = flags
  const limit = readLimit(flags.limit)
  const listed = await naming(
    (pointer) => (pointer === '?state' ? '--state' : '--search'),
    'belfry target list --help',
    () => readPages<Target>(server, '/v1/targets', { q: search, state }, limit),
  )
  if (listed.items.length === 0 && !flags.json)
    return remark(
      search === undefined && state === undefined
        ? 'No target was called in the last 10 minutes, and none has settings.\n'
        : 'No target matches these filters.\n',
    )
  give(listed.items, flags, () => targetTable(listed.items, server.now()))
  remarkMore(listed)
}

export async function showTarget(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const target = await ask(name, 'show', () => server.get<Target>(pathOf(name)))
  give(target, flags, () => targetText(target, server.now()))
}

export async function pauseTarget(name: string, flags: ClientFlags & { reason?: string }): Promise<void> {
  const server = serverFrom(flags)
  const body = flags.reason === undefined ? undefined : { reason: flags.reason }
  const { data: target } = await ask(name, 'pause', () =>
    server.ask<Target>('POST', `${pathOf(name)}/pause`, { body }),
  )
  give(target, flags, () => {
    const undo = `belfry target resume ${quoted(target.target)}`
    return `${c.green('✓')} target ${printable(target.target)} paused; to resume: ${undo}\n`
  })
}

export async function resumeTarget(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const target = await ask(name, 'resume', () => server.post<Target>(`${pathOf(name)}/resume`))
  give(target, flags, () => resumedText(target))
}

interface LimitFlags extends ClientFlags {
  readonly rate?: string
  readonly burst?: string
}

export async function limitTarget(name: string, limit: string | undefined, flags: LimitFlags): Promise<void> {
  const { rate, burst } = flags
  if (limit === undefined && rate === undefined && burst === undefined)
    throw usage('Give a number of calls, --rate or --burst.', 'belfry target limit --help')
  const server = serverFrom(flags)
  const body = {
    ...(limit === undefined ? {} : { limit: isNone(limit) ? null : readNumber(limit) }),
    ...(rate === undefined ? {} : { rate: isNone(rate) ? null : rate }),
    ...(burst === undefined ? {} : { burst: isNone(burst) ? null : readNumber(burst) }),
  }
  const { data: target } = await ask(name, 'limit', () => server.ask<Target>('PATCH', pathOf(name), { body }))
  give(target, flags, () => {
    const words = `${target.limit.perNode} calls per node at once; rate: ${rateWords(target.rate)}`
    return `${c.green('✓')} target ${printable(target.target)}: ${words}\n`
  })
}

const isNone = (text: string) => text === 'none' || text === ''

const pathOf = (name: string) => `/v1/targets/${encodeURIComponent(name)}`

const PLACES: Readonly<Record<string, string>> = {
  '/limit': 'the limit',
  '/rate': '--rate',
  '/burst': '--burst',
  '/reason': '--reason',
}

/** Reports validation errors with the names of the arguments. */
const ask = <T>(name: string, verb: string, work: () => Promise<T>): Promise<T> =>
  naming(
    (pointer) => PLACES[pointer] ?? `the target '${printable(name)}'`,
    `belfry target ${verb} --help`,
    work,
    'To list targets: belfry target list',
  )

function resumedText(target: Target): string {
  const name = printable(target.target)
  if (!target.isPaused) return `${c.green('✓')} target ${name} resumed; ${waitingWords(target)} waiting\n`
  const by = target.pausedBy ?? ''
  return `${c.yellow('!')} target ${name} is still paused by ${printable(by)}; to resume: belfry target resume ${quoted(by)}\n`
}

function targetTable(targets: readonly Target[], now: number): string {
  return table(
    ['TARGET', 'STATE', 'CALLS', 'LIMIT', 'WAITING', 'P95', 'FAILED', 'SINCE'],
    targets.map((target) => [
      cut(printable(target.target), NAME_WIDTH),
      stateOf(target),
      String(target.underWay),
      String(target.limit.current ?? target.limit.perNode),
      waitingWords(target),
      target.latency === null ? '–' : formatDuration(target.latency.p95),
      failedWords(target),
      sinceWords(target, now),
    ]),
  )
}

function targetText(target: Target, now: number): string {
  const { latency, circuit, lastError } = target
  const at = (instant: string) => formatDistance(Date.parse(instant), now)
  const lowered = target.limit.since === null ? '' : `, since ${at(target.limit.since)}`
  return `target ${printable(target.target)}  ${stateOf(target)}\n${facts([
    [
      'calls',
      `${target.underWay} in progress, ${target.calls} in the last minute, ${target.failures} failed`,
    ],
    [
      'waiting',
      `${waitingWords(target)}${target.oldest === null ? '' : `, the oldest ${at(target.oldest)}`}`,
    ],
    ['limit', `${printable(limitWords(target.limit))}${lowered}`],
    ['rate', rateWords(target.rate)],
    ...(latency === null ? [] : [['latency', latencyWords(latency)] as const]),
    ['circuit', circuit.since === null ? 'closed' : circuitWords(circuit, at)],
    ...(target.pausedAt === null ? [] : [['paused', pausedWords(target, at)] as const]),
    ...(lastError === null
      ? []
      : [
          ['last error', `${printable(lastError.message)} (${lastError.code}), ${at(lastError.at)}`] as const,
        ]),
  ])}${nodeTable(target)}`
}

const latencyWords = ({ p50, p95, p99 }: NonNullable<Target['latency']>) =>
  `p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}, p99 ${formatDuration(p99)}`

function circuitWords({ since, nextProbeAt }: Target['circuit'], at: (instant: string) => string): string {
  const probe = nextProbeAt === null ? '' : `; next probe ${at(nextProbeAt)}`
  return `${c.red('open')} since ${at(since ?? '')}${probe}`
}

function pausedWords(target: Target, at: (instant: string) => string): string {
  const by = target.pausedBy === target.target ? '' : ` by ${printable(target.pausedBy ?? '')}`
  const reason = target.pauseReason === null ? '' : ` (${printable(target.pauseReason)})`
  return `${at(target.pausedAt ?? '')}${by}${reason}`
}

function nodeTable({ nodes }: Target): string {
  if (nodes.length === 0) return ''
  const rows = nodes.map((node) => [
    printable(node.name),
    targetStateWords(node.state),
    `${node.underWay} of ${node.limit.current}`,
    node.latency === null ? '–' : formatDuration(node.latency.p95),
    `${node.failures} of ${node.calls}`,
  ])
  return `\n${table(['NODE', 'STATE', 'CALLS', 'P95', 'FAILED'], rows)}`
}

const COLOURS: Readonly<Record<Target['state'], (text: string) => string>> = {
  available: c.green,
  full: c.yellow,
  rate_limited: c.yellow,
  circuit_open: c.red,
  paused: c.yellow,
}

const stateOf = ({ state, isPattern }: Target) =>
  isPattern && state === 'available' ? 'pattern' : COLOURS[state](targetStateWords(state))

const failedWords = ({ calls, failures }: Target) => (calls === 0 ? '–' : `${failures} of ${calls}`)

function sinceWords({ state, pausedAt, circuit, limit }: Target, now: number): string {
  const since = state === 'paused' ? pausedAt : (circuit.since ?? limit.since)
  return since === null ? '–' : formatDistance(Date.parse(since), now)
}

import type { Node } from '../../api/resources/nodes/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { usage } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { countWords, cut, table } from '../client/printed.ts'
import { onStdout as c } from '../terminal.ts'

const NAME_WIDTH = 40
const OFFERS_WIDTH = 60

type State = Node['state']

export async function listMembers(
  noun: 'node' | 'worker',
  flags: ClientFlags & { readonly state?: string },
): Promise<void> {
  const state = flags.state === undefined ? undefined : readState(flags.state)
  const server = serverFrom(flags)
  const { items } = await server.get<{ items: readonly Node[] }>(`/v1/${noun}s`)
  const found = state === undefined ? items : items.filter((node) => node.state === state)
  if (found.length === 0 && !flags.json)
    return remark(state === undefined ? `There are no ${noun}s.\n` : `No ${noun} is ${state}.\n`)
  give(found, flags, () => (noun === 'node' ? nodeTable : workerTable)(found, server.now()))
}

function readState(text: string): State {
  if (Object.hasOwn(COLOURS, text)) return text as State
  throw usage(`--state is '${printable(text)}'; it must be one of ${Object.keys(COLOURS).join(', ')}.`)
}

function nodeTable(nodes: readonly Node[], now: number): string {
  return table(
    ['NAME', 'STATE', 'ROLES', 'RUNS', 'SHARDS', 'VERSION', 'HEARTBEAT', 'ID'],
    nodes.map((node) => [
      cut(printable(node.name), NAME_WIDTH),
      stateWords(node),
      node.roles.join(','),
      busyWords(node),
      String(node.shards),
      printable(node.version),
      formatDistance(Date.parse(node.beatAt), now),
      node.id,
    ]),
  )
}

function workerTable(nodes: readonly Node[], now: number): string {
  return table(
    ['NAME', 'STATE', 'RUNS', 'OFFERS', 'HEARTBEAT', 'ID'],
    nodes.map((node) => [
      cut(printable(node.name), NAME_WIDTH),
      stateWords(node),
      busyWords(node),
      cut(printable(offerWords(node)), OFFERS_WIDTH),
      formatDistance(Date.parse(node.beatAt), now),
      node.id,
    ]),
  )
}

const COLOURS = { alive: c.green, quiet: c.yellow, dead: c.red } satisfies Record<State, unknown>

/** A node that was stopped properly is not shown as a problem. */
function stateWords({ state, reason }: Node): string {
  const colour = reason === 'stopped' ? c.dim : COLOURS[state]
  return colour(reason === null ? state : `${state} (${reason})`)
}

/** Number of runs that the node has leased, and its maximum. */
function busyWords({ concurrency, busy }: Node): string {
  return concurrency === 0 ? '–' : `${countWords(busy)} of ${concurrency}`
}

function offerWords({ offers }: Node): string {
  if (offers === null) return 'all actions except handlers'
  const parts = [
    ...(offers.actions.length === 0 ? [] : [offers.actions.join(', ')]),
    ...(offers.commands.length === 0 ? [] : [`commands ${offers.commands.join(', ')}`]),
    ...(offers.handlers.length === 0 ? [] : [`handlers ${offers.handlers.join(', ')}`]),
    ...(offers.labels.length === 0 ? [] : [`labels ${offers.labels.join(', ')}`]),
    ...(offers.queues === null ? [] : [`queues ${offers.queues.join(', ')}`]),
  ]
  return parts.join('; ')
}

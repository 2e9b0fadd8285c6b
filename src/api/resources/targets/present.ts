import {
  type CallError,
  defaultLimitOf,
  type LineState,
  type OpenCircuit,
} from '../../../core/target/target-state.ts'
import { utc } from '../../../core/values/utc.ts'
import type { Context } from '../../../operations/context.ts'
import type { TargetView } from '../../../operations/targets/targets.ts'
import type { NodeLine } from '../../../store/targets/targets.ts'
import { nodeNameFor } from '../nodes/node-name.ts'
import type { Target } from './schemas.ts'

/** Presents a target with the state of each node, as the caller may see it. */
export function presentTarget(context: Context, view: TargetView): Target {
  const nameOf = nodeNameFor(context)
  return { ...presentSummary(view), nodes: view.nodes.map((line) => presentNode(line, nameOf)) }
}

/** Presents a target in a list, without the state of each node. */
export function presentSummary(view: TargetView): Target {
  const { joined, applied } = view
  return {
    target: view.target,
    isPattern: view.isPattern,
    state: view.state,
    underWay: joined.underWay,
    waiting: view.waiting,
    oldest: instant(view.oldest),
    limit: limitOf(view),
    rate: {
      limit: applied.rate?.rate ?? null,
      burst: applied.rate?.burst ?? null,
      pattern: applied.rate?.pattern ?? null,
    },
    latency: joined.latency,
    calls: joined.calls,
    failures: joined.failures,
    circuit: presentCircuit(circuitOf(view)),
    lastError: presentError(joined.lastError ?? view.error),
    isPaused: applied.pause !== null,
    pausedAt: instant(applied.pause?.pausedAt ?? null),
    pauseReason: applied.pause?.pauseReason ?? null,
    pausedBy: applied.pause?.pattern ?? null,
    nodes: [],
  }
}

function limitOf({ target, joined, applied, nodes }: TargetView): Target['limit'] {
  const set = applied.limit
  return {
    current: nodes.length === 0 ? null : joined.limit,
    perNode: set?.limit ?? defaultLimitOf(target),
    reason: joined.limitReason ?? (set ? 'setting' : 'default'),
    since: instant(joined.limitSince),
    pattern: set?.pattern ?? null,
  }
}

function circuitOf({ joined, openedAt, until, error }: TargetView): OpenCircuit | null {
  return joined.circuit ?? (openedAt === null || until === null ? null : { openedAt, until, error })
}

const presentNode = (
  { nodeId, name, at, state }: NodeLine,
  nameOf: ReturnType<typeof nodeNameFor>,
): Target['nodes'][number] => ({
  nodeId,
  name: nameOf({ id: nodeId, name }),
  reportedAt: utc(at),
  ...presentLine(state),
})

const presentLine = (line: LineState) => ({
  state: line.state,
  underWay: line.underWay,
  limit: { current: line.limit, reason: line.limitReason, since: instant(line.limitSince) },
  latency: line.latency,
  calls: line.calls,
  failures: line.failures,
  circuit: presentCircuit(line.circuit),
  lastError: presentError(line.lastError),
})

const presentCircuit = (circuit: OpenCircuit | null): Target['circuit'] => ({
  state: circuit === null ? 'closed' : 'open',
  since: instant(circuit?.openedAt ?? null),
  nextProbeAt: instant(circuit?.until ?? null),
  error: presentError(circuit?.error ?? null),
})

const presentError = (error: CallError | null) => error && { ...error, at: utc(error.at) }

const instant = (at: number | null): string | null => (at === null ? null : utc(at))

/** Why calls to a target do not start. Pure. */
import type { TargetState } from '../target/target-state.ts'
import { because, doubledRate, instant, quoted, type Why } from './why.ts'

/** The target of a task's calls in its current state. Instants are epoch milliseconds. */
export interface AwaitedTarget {
  readonly target: string
  readonly state: TargetState
  /** Whether a run waits in the target's line, which means that there was no room for it, even if there is room now. */
  readonly isAwaited: boolean
  readonly underWay: number
  readonly limit: number
  readonly perNode: number
  readonly rate: string | null
  /** The target or pattern whose setting pauses the target; `limitedBy` and `ratedBy` are the same for its limit and its rate. */
  readonly pausedBy: string | null
  readonly limitedBy: string | null
  readonly ratedBy: string | null
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly openedAt: number | null
  /** When the next probe is due. */
  readonly until: number | null
  readonly error: string | null
}

/** A run that is due and waits. */
interface Waiter {
  readonly runId: string
  readonly state: string
  readonly scheduledFor: number
  readonly wakeAt: number
}

/** A full target or a reached rate is no cause for a run that is not due; a pause or an open circuit is. */
export function targetCauses(it: AwaitedTarget | null, run: Waiter | null): Why[] {
  if (!it || (it.state === 'available' && !(run && it.isAwaited))) return []
  const facts = run
    ? { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor, since: run.wakeAt }
    : {}
  const who = run ? `Run ${run.runId} is due and waiting` : 'The next run would wait'
  const told = { ...facts, target: it.target }
  if (it.state === 'paused') return [paused(it, who, told)]
  if (it.state === 'circuit_open') return [circuitOpen(it, who, told)]
  if (!run) return []
  return [it.state === 'rate_limited' ? rateLimited(it, who, told) : full(it, who, told)]
}

type Told = Why['facts']

function paused({ target, pausedAt, pauseReason, pausedBy }: AwaitedTarget, who: string, facts: Told): Why {
  const since = pausedAt === null ? '' : ` since ${instant(pausedAt)}`
  const by = pausedBy === null || pausedBy === target ? '' : ` by ${pausedBy}`
  return {
    code: 'target_paused',
    sentence: `${who}: target ${target} has been paused${by}${since}${because(pauseReason)}.`,
    facts: {
      ...facts,
      ...(pausedAt === null ? {} : { since: pausedAt }),
      ...(pauseReason === null ? {} : { reason: pauseReason }),
    },
    advice: `To resume the target: belfry target resume ${quoted(pausedBy ?? target)}`,
  }
}

function circuitOpen({ target, openedAt, until, error }: AwaitedTarget, who: string, facts: Told): Why {
  const since = openedAt === null ? '' : ` since ${instant(openedAt)}`
  const probe = until === null ? '' : ` The next probe is at ${instant(until)}.`
  return {
    code: 'target_circuit_open',
    sentence: `${who}: the circuit of target ${target} has been open${since}${because(error)}.${probe}`,
    facts: {
      ...facts,
      ...(openedAt === null ? {} : { since: openedAt }),
      ...(until === null ? {} : { until }),
      ...(error === null ? {} : { reason: error }),
    },
    advice: `Wait until the target responds again. To see its errors: belfry target show ${quoted(target)}`,
  }
}

function full({ target, underWay, limit, perNode, limitedBy }: AwaitedTarget, who: string, facts: Told): Why {
  if (underWay < limit)
    return {
      code: 'target_full',
      sentence: `${who} for its turn at target ${target}, which has a free slot again.`,
      facts: { ...facts, limit, held: underWay },
      advice: null,
    }
  return {
    code: 'target_full',
    sentence: `${who}: target ${target} has ${underWay} calls in progress, and its limit is ${limit}.`,
    facts: { ...facts, limit, held: underWay },
    advice: `Wait for calls to end, or raise the limit: belfry target limit ${quoted(limitedBy ?? target)} ${2 * perNode}`,
  }
}

function rateLimited({ target, rate, ratedBy }: AwaitedTarget, who: string, facts: Told): Why {
  const shown = rate ?? ''
  return {
    code: 'target_rate_limited',
    sentence: `${who}: target ${target} is at its rate limit of ${shown}.`,
    facts: { ...facts, rate: shown },
    advice: `Wait, or raise the rate: belfry target limit ${quoted(ratedBy ?? target)} --rate ${doubledRate(shown)}`,
  }
}

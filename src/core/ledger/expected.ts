/**
 * Which occurrences a task owes. The versions that were in force follow one another, each with the instants
 * of its own schedule; what ends a task ends them. Pure: no row says here whether anything was done about it.
 */
import { firstOccurrence, nextOccurrence } from '../schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../task/task.ts'
import { atOnce, type Steps } from '../values/steps.ts'

/** A definition, and how far it was in force. */
export interface VersionInForce {
  readonly version: number
  readonly definition: TaskDefinition
  /** The last instant whose occurrence is one of this version; null for the present one. */
  readonly until: number | null
}

/** What decides which occurrences there are. Instants are epoch milliseconds. */
export interface Owing {
  readonly createdAt: number
  /** Oldest first. */
  readonly versions: readonly VersionInForce[]
  /** When the task was cancelled or deleted. */
  readonly endedAt: number | null
}

/** An instant at which a task was due, and by which version. */
export interface Expected {
  readonly at: number
  readonly version: number
}

/** The expected occurrences of a stretch of time. */
export interface ExpectedSet {
  /** In order, each instant once. */
  readonly items: readonly Expected[]
  /** Counting stopped at the limit: there are more, and this was the last one counted. */
  readonly cutAt: number | null
}

/** Chains are due when the run before has ended: time alone says nothing about them. */
export const isChain = ({ schedule }: TaskDefinition): boolean => schedule.type === 'delay'

/** The occurrences in [from, to], at most `limit` of them. */
export function expectedBetween(owing: Owing, stretch: ExpectedStretch): ExpectedSet {
  return atOnce(expectedSteps(owing, stretch))
}

/** Where occurrences are expected, and how many of them are looked at. */
export interface ExpectedStretch {
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** The same in steps. */
export function* expectedSteps(
  { createdAt, versions, endedAt }: Owing,
  { from, to, limit }: ExpectedStretch,
): Steps<ExpectedSet> {
  const found = new Map<number, number>()
  let after = Number.NEGATIVE_INFINITY
  let cutAt: number | null = null
  for (const { version, definition, until } of versions) {
    const last = Math.min(to, until ?? to, endedAt ?? to)
    for (const at of instantsOf(definition, { createdAt, after, from })) {
      if (at > last) break
      if (found.size >= limit) {
        cutAt = lastOf(found)
        break
      }
      if (!found.has(at)) found.set(at, version)
      yield
    }
    after = Math.max(after, until ?? after)
    if (cutAt !== null) break
  }
  const items = [...found].map(([at, version]) => ({ at, version })).sort((a, b) => a.at - b.at)
  return { items, cutAt }
}

const lastOf = (found: ReadonlyMap<number, number>): number =>
  [...found.keys()].reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)

/** Whether an instant is one of a definition's, whenever it was in force. */
export function isInstantOf(definition: TaskDefinition, at: number): boolean {
  return isChain(definition) || nextOccurrence(planOf(definition), at - 1) === at
}

/** What is to be known about the time before a version. */
interface Beginning {
  readonly createdAt: number
  /** The versions before it had the instants up to here. */
  readonly after: number
  readonly from: number
}

/** The instants of one version from `from` on, without end unless the plan has one. */
function* instantsOf(definition: TaskDefinition, { createdAt, after, from }: Beginning): Generator<number> {
  const plan = planOf(definition)
  if (isChain(definition)) return
  if (definition.schedule.type === 'once') {
    // A one-off may be given an instant that has passed: it is due nevertheless.
    const at = firstOccurrence(plan, createdAt)
    if (at !== null && at >= from) yield at
    return
  }
  // The first occurrence comes after the creation of the task, or at `startAt` if that is set.
  const first = plan.startAt === null ? createdAt : createdAt - 1
  let at = nextOccurrence(plan, Math.max(after, first, from - 1))
  while (at !== null) {
    yield at
    at = nextOccurrence(plan, at)
  }
}

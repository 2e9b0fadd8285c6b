/**
 * Computes the occurrences that a task should have. The versions in force follow one another, each with the occurrences that
 * its schedule produces, until the task ends. Pure: it considers no rows, so it does not know what was done about an occurrence.
 */
import { firstOccurrence, nextOccurrence } from '../schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../task/task.ts'
import { atOnce, type Steps } from '../values/steps.ts'

/** A definition, and until when it was in force. */
export interface VersionInForce {
  readonly version: number
  readonly definition: TaskDefinition
  /** The last instant whose occurrence belongs to this version; null for the current one. */
  readonly until: number | null
}

/** What determines the occurrences of a task. Instants are epoch milliseconds. */
export interface Owing {
  readonly createdAt: number
  /** Oldest first. */
  readonly versions: readonly VersionInForce[]
  /** When the task was cancelled or deleted. */
  readonly endedAt: number | null
}

/** An instant at which a task was due, and the version that made it due. */
export interface Expected {
  readonly at: number
  readonly version: number
}

/** The expected occurrences of a period. */
export interface ExpectedSet {
  /** In chronological order, without duplicates. */
  readonly items: readonly Expected[]
  /** The last occurrence that was counted, if counting stopped at the limit and more exist; null otherwise. */
  readonly cutAt: number | null
}

/**
 * Whether the schedule is a chain: each occurrence depends on the end of the previous run, so it cannot be computed from the
 * schedule alone.
 */
export const isChain = ({ schedule }: TaskDefinition): boolean => schedule.type === 'delay'

/** The occurrences in [from, to], at most `limit` of them. */
export function expectedBetween(owing: Owing, stretch: ExpectedStretch): ExpectedSet {
  return atOnce(expectedSteps(owing, stretch))
}

/** The period in which occurrences are expected, and how many of them are considered. */
export interface ExpectedStretch {
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** `expectedBetween` in steps. */
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

/** Whether an instant is an occurrence of a definition, regardless of when the definition was in force. */
export function isInstantOf(definition: TaskDefinition, at: number): boolean {
  return isChain(definition) || nextOccurrence(planOf(definition), at - 1) === at
}

/** What must be known about the time before a version. */
interface Beginning {
  readonly createdAt: number
  /** Occurrences up to this instant belong to earlier versions. */
  readonly after: number
  readonly from: number
}

/** The occurrences of one version from `from` on; endless unless the plan has an end. */
function* instantsOf(definition: TaskDefinition, { createdAt, after, from }: Beginning): Generator<number> {
  const plan = planOf(definition)
  if (isChain(definition)) return
  if (definition.schedule.type === 'once') {
    // A one-off task may be given an instant in the past, at which it is due nevertheless.
    const at = firstOccurrence(plan, createdAt)
    if (at !== null && at >= from) yield at
    return
  }
  // The first occurrence is after the creation of the task, or at or after `startAt` if that is set.
  const first = plan.startAt === null ? createdAt : createdAt - 1
  let at = nextOccurrence(plan, Math.max(after, first, from - 1))
  while (at !== null) {
    yield at
    at = nextOccurrence(plan, at)
  }
}

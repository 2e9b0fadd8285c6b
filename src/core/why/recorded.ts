/**
 * What a run waited for at an instant that has passed, as far as records tell. A pause of a queue is known while it lasts,
 * stretches without a scheduler are recorded, and who held a concurrency key or was there to work follows from the history
 * of runs and nodes. Whether a worker was free, or the queue full, does not.
 */
import { neededWords } from './needed.ts'
import { instant, type Why, type WhyFacts } from './why.ts'

/** What is known about where a run waited. */
export interface Recorded {
  /** When no scheduler watched the task's slice of the agenda, from before the run was due. */
  readonly unwatched: { readonly shard: number; readonly since: number; readonly until: number } | null
  /** The queue that it waited in, when that was paused then and still is. */
  readonly pausedQueue: { readonly name: string; readonly since: number } | null
  /** The concurrency key of the run, and the runs that held a place of it. */
  readonly key: { readonly name: string; readonly limit: number; readonly heldBy: readonly string[] } | null
  /** Workers that were there; null when nodes of that time may be forgotten. */
  readonly workers: {
    readonly alive: number
    readonly capable: number
    readonly handler: string | null
    readonly labels: readonly string[]
  } | null
}

export const NOTHING_RECORDED: Recorded = { unwatched: null, pausedQueue: null, key: null, workers: null }

/** The run that waited, in words and facts. */
export interface Waiter {
  readonly taskId: string
  readonly who: string
  readonly facts: WhyFacts
}

export const recordedCauses = (recorded: Recorded, waiter: Waiter): Why[] => [
  ...unwatched(recorded, waiter),
  ...queuePaused(recorded, waiter),
  ...keyFull(recorded, waiter),
  ...withoutWorker(recorded, waiter),
]

function unwatched({ unwatched }: Recorded, { who, facts }: Waiter): Why[] {
  if (!unwatched) return []
  const { shard, since, until } = unwatched
  return [
    {
      code: 'shard_unwatched',
      sentence: `${who}: no scheduler watched shard ${shard}, which contains the task, from ${instant(since)} to ${instant(until)}.`,
      facts: { ...facts, shard, since, until },
      advice: 'Run at least two nodes with the role scheduler: one takes over from the other within seconds.',
    },
  ]
}

function queuePaused({ pausedQueue }: Recorded, { who, facts }: Waiter): Why[] {
  if (!pausedQueue) return []
  const { name, since } = pausedQueue
  return [
    {
      code: 'queue_paused',
      sentence: `${who}: queue ${name} has been paused since ${instant(since)}.`,
      facts: { ...facts, queue: name, since },
      advice: `To resume the queue: belfry queue resume ${name}`,
    },
  ]
}

/** Runs that are named in a sentence. */
const NAMED = 3

function keyFull({ key }: Recorded, { who, facts, taskId }: Waiter): Why[] {
  if (!key || key.heldBy.length < key.limit) return []
  const { name, limit, heldBy } = key
  const others = heldBy.length > NAMED ? ` and ${heldBy.length - NAMED} more` : ''
  return [
    {
      code: 'key_full',
      sentence: `${who}: concurrency key ${name} was at its limit of ${limit}, in use by run ${heldBy.slice(0, NAMED).join(', ')}${others}.`,
      facts: { ...facts, key: name, limit, held: heldBy.length, heldBy: heldBy.slice(0, MAX_NAMED_IN_FACTS) },
      advice: `To raise the limit: belfry task edit ${taskId} --concurrency-limit ${2 * limit}`,
    },
  ]
}

const MAX_NAMED_IN_FACTS = 100

function withoutWorker({ workers }: Recorded, { who, facts }: Waiter): Why[] {
  if (!workers || workers.capable > 0) return []
  const { alive, handler, labels } = workers
  const needed = neededWords(workers)
  const withHandler = handler === null ? {} : { handler }
  if (alive === 0)
    return [
      {
        code: 'no_worker',
        sentence:
          handler === null
            ? `${who}: no node with the role worker was alive.`
            : `${who}: no connected worker provided ${needed}.`,
        facts: { ...facts, workers: 0, ...withHandler },
        advice:
          handler === null
            ? 'Keep a node with the role worker running. To list nodes: belfry node list'
            : 'Keep a worker running that provides this handler. To list connected workers: belfry worker list',
      },
    ]
  return [
    {
      code: 'no_capable_worker',
      sentence: `${who}: none of ${alive} live ${alive === 1 ? 'worker' : 'workers'} provided ${needed}.`,
      facts: { ...facts, labels, workers: alive, ...withHandler },
      advice: 'Keep a worker running that provides it. To see what workers provide: belfry worker list',
    },
  ]
}

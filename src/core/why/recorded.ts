/**
 * What a run waited for at an instant in the past, as far as it is recorded. The pause of a queue is known while it lasts,
 * unwatched periods are recorded, and the history of runs and nodes shows which runs used a concurrency key and which workers
 * were alive. Whether a worker was free, or a queue full, is not recorded.
 */
import { neededWords } from './needed.ts'
import { instant, type Why, type WhyFacts } from './why.ts'

/** What is recorded about the lane in which a run waited. */
export interface Recorded {
  /** The period in which no scheduler watched the task's shard, beginning before the run was due. */
  readonly unwatched: { readonly shard: number; readonly since: number; readonly until: number } | null
  /** The queue of the run, if it was paused at the time and still is. */
  readonly pausedQueue: { readonly name: string; readonly since: number } | null
  /** The concurrency key of the run, and the runs that used a slot of it. */
  readonly key: { readonly name: string; readonly limit: number; readonly heldBy: readonly string[] } | null
  /** The workers that were alive; null if nodes of that time may have been deleted. */
  readonly workers: {
    readonly alive: number
    readonly capable: number
    readonly handler: string | null
    readonly labels: readonly string[]
  } | null
}

export const NOTHING_RECORDED: Recorded = { unwatched: null, pausedQueue: null, key: null, workers: null }

/** The waiting run, as text and as facts. */
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

/** Maximum number of runs that a sentence names. */
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
      sentence: `${who}: ${alive === 1 ? 'the only live worker did not provide' : `none of ${alive} live workers provided`} ${needed}.`,
      facts: { ...facts, labels, workers: alive, ...withHandler },
      advice: 'Keep a worker running that provides it. To see what workers provide: belfry worker list',
    },
  ]
}

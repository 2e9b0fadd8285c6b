/** The state of a task from which why-now is answered. Instants are epoch milliseconds. */
import type { BlackoutEffect } from '../policy/blackout-rule.ts'
import type { AwaitedFiles } from './file-causes.ts'
import type { NextOwed } from './next-owed.ts'
import type { AwaitedSecrets } from './secret-causes.ts'
import type { AwaitedTarget } from './target-causes.ts'

/** A live row of the task. */
export interface LiveRun {
  readonly runId: string
  readonly kind: string
  readonly state: 'scheduled' | 'pending' | 'running' | 'retrying' | 'held' | 'deferred'
  readonly scheduledFor: number
  readonly wakeAt: number
  readonly attempt: number
  readonly workerId: string | null
  readonly claimedAt: number | null
  readonly isCancelled: boolean
}

/** Where the task's runs wait for a worker. */
export interface Waiting {
  readonly queue: string
  readonly queuePausedAt: number | null
  readonly queueLimit: number | null
  readonly queueHeld: number
  readonly queueRate: string | null
  /** When the rate of the queue allows the next start; null if it allows one now. */
  readonly queueOpensAt: number | null
  readonly projectLimit: number | null
  readonly projectHeld: number
  readonly projectRate: string | null
  readonly projectOpensAt: number | null
  readonly key: string | null
  readonly keyLimit: number | null
  readonly keyHeld: number
  readonly keyRate: string | null
  readonly keyOpensAt: number | null
  readonly labels: readonly string[]
  /** The handler that one of the user's workers must provide; null if nodes perform the runs. */
  readonly handler: string | null
  /** Number of runs that wait before this one, counted up to a limit. */
  readonly ahead: number
  /** Whether a run waits in a queue that is not registered, so that no worker finds it. */
  readonly isMissing: boolean
}

/** The workers that could perform the runs. */
export interface Workers {
  readonly alive: number
  /** Number of workers that offer what the task requires. */
  readonly capable: number
  /** Number of these that are remote workers. */
  readonly remote: number
  readonly places: number
}

/** The node that watches the task's shard. */
export interface Watcher {
  readonly shard: number
  readonly isWatched: boolean
  readonly watchedUntil: number
}

/** All that the answer depends on. */
export interface NowCase extends NextOwed {
  readonly taskId: string
  readonly now: number
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly resumeAt: number | null
  readonly cancelledAt: number | null
  readonly live: readonly LiveRun[]
  /** The latest run of the task that has ended. */
  readonly last: { readonly runId: string; readonly state: string; readonly endedAt: number } | null
  readonly waiting: Waiting
  /** The target of the task's calls; null if the task makes no calls. */
  readonly target: AwaitedTarget | null
  /** The secrets that the task refers to; null if it refers to none. */
  readonly secrets: AwaitedSecrets | null
  /** The files of the task that are not uploaded; null if it uses no files. */
  readonly files: AwaitedFiles | null
  readonly workers: Workers
  readonly watcher: Watcher
  /** The blackout of the project that is in force. */
  readonly blackout: Blackout | null
}

/** A blackout that is in force at a given instant. */
export interface Blackout {
  readonly name: string
  readonly effect: BlackoutEffect
  readonly until: number
}

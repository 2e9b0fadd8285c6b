/**
 * Why a task is not running: a fixed list of causes, each with a sentence, the facts behind it and advice;
 * docs/reference/why.md explains them one by one. now.ts and then.ts determine which causes apply.
 */

import { FASTEST_RATE, parseRate } from '../values/rate.ts'

/** The causes. A code never changes its meaning. */
export const WHY_CODES = [
  'running',
  'starting',
  'retry_wait',
  'overlap',
  'blackout',
  'project_full',
  'project_rate_limited',
  'queue_missing',
  'queue_paused',
  'queue_full',
  'queue_rate_limited',
  'key_full',
  'key_rate_limited',
  'target_paused',
  'target_circuit_open',
  'target_full',
  'target_rate_limited',
  'file_missing',
  'secret_missing',
  'no_secrets_key',
  'no_worker',
  'no_capable_worker',
  'workers_busy',
  'shard_unwatched',
  'scheduler_behind',
  'paused',
  'not_due',
  'manual_only',
  'finished',
  'cancelled',
  'next_row_lost',
  'misfire',
  'skip_next',
  'edited',
  'bounds',
  'lost',
  'waited',
  'not_created',
  'before_history',
] as const
export type WhyCode = (typeof WHY_CODES)[number]

/** The facts behind a cause. Instants are epoch milliseconds. */
export interface WhyFacts {
  /** The run that the cause concerns, or the run that is in the way. */
  readonly runId?: string
  readonly runState?: string
  /** When the run or occurrence was due. */
  readonly scheduledFor?: number
  readonly since?: number
  readonly until?: number
  /** When the task is due next. */
  readonly nextAt?: number
  readonly attempt?: number
  readonly workerId?: string
  readonly queue?: string
  readonly key?: string
  /** The target of the task's calls. */
  readonly target?: string
  readonly rate?: string
  readonly limit?: number
  readonly held?: number
  /** Runs that used the slots at that time. */
  readonly heldBy?: readonly string[]
  readonly labels?: readonly string[]
  readonly handler?: string
  readonly workers?: number
  readonly places?: number
  /** Number of runs that wait before this one, counted up to a limit. */
  readonly ahead?: number
  readonly shard?: number
  readonly reason?: string
  readonly count?: number
  readonly name?: string
  /** Names of the secrets involved. */
  readonly secrets?: readonly string[]
  /** Ids of the files involved. */
  readonly files?: readonly string[]
}

/** One cause. */
export interface Why {
  readonly code: WhyCode
  readonly sentence: string
  readonly facts: WhyFacts
  /** What to do about it; null if nothing needs to be done. */
  readonly advice: string | null
}

export const instant = (ms: number): string => new Date(ms).toISOString()

export const because = (reason: string | null | undefined): string => (reason ? ` (${reason})` : '')

/** Quotes an argument of a command for a shell. */
export const quoted = (word: string): string =>
  /^[\w.:@/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** Twice a rate, for advice; at most the highest rate allowed. */
export function doubledRate(rate: string): string {
  const doubled = rate.replace(/^\d+/, (count) => String(2 * Number(count)))
  return parseRate(doubled).ok ? doubled : FASTEST_RATE
}

/** The contenders of a comparison: Belfry and its peers, each doing the same work in its own way. */
import type { Subject } from './measure.ts'

/** Contenders that accept tasks. */
export const INTAKES = ['belfry', 'graphile', 'pg-boss', 'bullmq'] as const
export type IntakeName = (typeof INTAKES)[number]

/** Contenders that perform tasks; graphile-worker in two ways, because its documented batching changes the order of magnitude. */
export const CONTENDERS = [...INTAKES, 'graphile-default'] as const

/** Contenders that make calls, and the calls alone without a scheduler. */
export const CALLERS = [...CONTENDERS, 'calls'] as const
export type ContenderName = (typeof CALLERS)[number]

export interface Workload {
  readonly runs: number
  /** Number of worker processes. */
  readonly nodes: number
  /** Where each run sends its POST; null for work that does nothing. */
  readonly sinkUrl: string | null
}

/** A contender with its tasks created and its processes running, ready to begin. */
export interface Prepared {
  readonly subject: Subject
  begin(): Promise<void>
  /** Resolves when nothing is left to do. */
  untilDone(): Promise<void>
  /** Fails unless every run was done once. */
  verify(): Promise<void>
  close(): Promise<void>
}

export interface Contender {
  readonly name: ContenderName
  prepare(workload: Workload): Promise<Prepared>
}

/** Belfry's default, used for every contender. */
export const CONCURRENCY = 50
export const DRAIN_TIMEOUT_MS = 600_000

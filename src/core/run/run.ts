/** The states of a run. The first three live in agenda, the others are final and live in history. */
export const RUN_STATES = [
  'pending',
  'running',
  'retrying',
  'completed',
  'permanently_failed',
  'cancelled',
  'skipped',
] as const
export type RunState = (typeof RUN_STATES)[number]
export type LiveRunState = 'pending' | 'running' | 'retrying'
export type EndedRunState = Exclude<RunState, LiveRunState>

export const isLiveState = (state: RunState): state is LiveRunState =>
  state === 'pending' || state === 'running' || state === 'retrying'

/**
 * Why a run exists: its schedule, a user's trigger, a missed occurrence or an edit (`catchup`), or a backfill. `resume` marks
 * the end of a pause, and is never a run.
 */
export type RunKind = 'occurrence' | 'manual' | 'catchup' | 'resume' | 'backfill'

/** The kind of a row of the agenda: a run, or an operation on its task. */
export type AgendaKind = RunKind | 'skip'

/** Why an occurrence did not run. The list is complete: every occurrence that did not run has one of these reasons. */
export const SKIP_REASONS = [
  'overlap',
  'overlap_limit',
  'misfire',
  'paused',
  'skip_next',
  'blackout',
  'edited',
  'cancelled',
  'bounds',
  'lost',
  'queue_timeout',
  'file_missing',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** How one attempt ended, as it is stored. */
export type AttemptOutcome = 'completed' | 'failed' | 'timed_out' | 'cancelled' | 'worker_lost'

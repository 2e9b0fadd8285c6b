/**
 * Stops calls to a target that does not answer. A circuit belongs to a project and a target.
 * - closed → open: calls of at least two tasks got no answer, five in a row, with no answer in between. A single task opens it
 * only if no other task calls the target, so that one hanging path does not stop other tasks.
 * - open → probing: its time is over and one call begins, the probe.
 * - probing → closed: the probe, or an earlier one, got an answer. Calls that began before the circuit opened do not count: a
 * server that shuts down still answers the calls it has begun.
 * - probing → open, for twice as long: the probe failed, or took too long.
 * - probing → open, with the next probe due at once: the probe was neutral, for example a run that was cancelled.
 *
 * Calls are distinguished by when they began, so nothing has to be stored for each call.
 */
import type { CallResult } from './call-result.ts'

export const OPENING_FAILURES = 5
export const MIN_OPEN_MS = 5_000
export const MAX_OPEN_MS = 300_000
/** The open time varies by this fraction in either direction, so that nodes do not probe simultaneously. */
const JITTER = 0.1
/** A probe that is not answered within this time has failed, unless the target usually takes longer. */
export const PROBE_PATIENCE_MS = 30_000
/** A task is the only one that calls a target if no other has called it for this long. */
const ONLY_TASK_MS = 600_000
/**
 * If a target fails again within this time after its circuit closed, the previous open time is kept, because the target had not
 * recovered.
 */
const RELAPSE_MS = 30_000
/** Durations are rounded and measured on another clock; a circuit stays open longer than this between two calls. */
const ROUNDING_MS = 1_000
const MAX_DOUBLINGS = 10

export type CircuitState = 'closed' | 'open' | 'probing'
/**
 * `unlearned`: closed again after only another node had opened it. `probing`: a probe begins for a circuit that this node
 * opened itself.
 */
export type CircuitChange = 'opened' | 'reopened' | 'probing' | 'closed' | 'unlearned' | 'probe_due'
type CallError = NonNullable<CallResult['error']>

export class Circuit {
  readonly #random: () => number
  #state: CircuitState = 'closed'
  /** When the circuit opened, at the beginning of the outage. */
  #openedAt = 0
  #until = 0
  #doublings = 0
  /** Whether another node opened it and this node has not probed. */
  #isLearned = false
  #error: CallError | null = null
  #closedAt = Number.NEGATIVE_INFINITY
  /** When the first probe since the circuit opened began. */
  #firstProbeAt = Number.POSITIVE_INFINITY
  #probeAt = 0
  #giveUpAt = 0

  /** Failures in a row, and the tasks they belong to. */
  #failures = 0
  #failingTask = ''
  #areSeveral = false
  #retryAfterMs = 0
  /** The task whose call ended last, and when that task last changed. */
  #lastTask = ''
  #otherTaskAt = Number.NEGATIVE_INFINITY

  constructor(random: () => number) {
    this.#random = random
  }

  get state(): CircuitState {
    return this.#state
  }

  get openedAt(): number {
    return this.#openedAt
  }

  /** When the next probe is due. */
  get until(): number {
    return this.#until
  }

  get isLearned(): boolean {
    return this.#isLearned
  }

  get error(): CallError | null {
    return this.#error
  }

  /** When time alone changes the state: a probe is due or has taken too long. */
  get changesAt(): number {
    return this.#state === 'probing' ? this.#giveUpAt : this.#until
  }

  mayProbe(now: number): boolean {
    return this.#state === 'open' && now >= this.#until
  }

  /** Begins a call while the circuit is not closed: it is the probe, if one is due. */
  begin(now: number, patienceMs: number): 'probing' | undefined {
    if (!this.mayProbe(now)) return undefined
    this.#state = 'probing'
    this.#probeAt = now
    this.#firstProbeAt = Math.min(this.#firstProbeAt, now)
    this.#giveUpAt = now + Math.max(PROBE_PATIENCE_MS, Math.min(patienceMs, MAX_OPEN_MS))
    return this.#isLearned ? undefined : 'probing'
  }

  /** Ends a call. `isStale`: the target has answered a call that began later, so this one provides no new information. */
  end(result: CallResult, startedAt: number, now: number, isStale: boolean): CircuitChange | undefined {
    if (result.taskId !== this.#lastTask) this.#sawTask(result.taskId, now)
    if (this.#state !== 'closed') return this.#endWhileOpen(result, startedAt + ROUNDING_MS, now)
    if (!isNoAnswer(result)) {
      if (result.kind !== 'neutral') this.#failures = 0
      return undefined
    }
    if (isStale) return undefined
    this.#countFailure(result)
    return this.#mustOpen(now) ? this.#open(result, now) : undefined
  }

  /** Abandons a probe that takes too long. */
  settle(now: number): CircuitChange | undefined {
    if (this.#state !== 'probing' || now < this.#giveUpAt) return undefined
    return this.#reopen(now, 0)
  }

  /** Applies that another node has opened the circuit. A circuit that this node opened itself does not change. */
  learn({ openedAt, until, error }: { openedAt: number; until: number; error: CallError | null }): void {
    if (this.#state === 'closed') {
      this.#state = 'open'
      this.#isLearned = true
      this.#openedAt = openedAt
      this.#firstProbeAt = Number.POSITIVE_INFINITY
      this.#error = error
    }
    if (this.#isLearned && this.#state === 'open') this.#until = until
  }

  close(now: number): 'closed' | 'unlearned' {
    const change = this.#isLearned ? 'unlearned' : 'closed'
    this.#state = 'closed'
    this.#isLearned = false
    this.#closedAt = now
    this.#failures = 0
    this.#retryAfterMs = 0
    return change
  }

  #endWhileOpen(result: CallResult, startedAt: number, now: number): CircuitChange | undefined {
    const isAnswer = !isNoAnswer(result) && result.kind !== 'neutral'
    if (isAnswer) return startedAt >= this.#firstProbeAt ? this.close(now) : undefined
    if (this.#state !== 'probing' || startedAt < this.#probeAt) return undefined
    if (result.kind === 'neutral') {
      this.#state = 'open'
      return 'probe_due'
    }
    this.#error = result.error ?? this.#error
    return this.#reopen(now, result.retryAfterMs ?? 0)
  }

  #open(result: CallResult, now: number): 'opened' {
    if (now - this.#closedAt > RELAPSE_MS) this.#doublings = 0
    this.#openedAt = now
    this.#firstProbeAt = Number.POSITIVE_INFINITY
    this.#error = result.error ?? null
    this.#leaveAlone(now, this.#retryAfterMs)
    return 'opened'
  }

  #reopen(now: number, retryAfterMs: number): 'opened' | 'reopened' {
    const change = this.#isLearned ? 'opened' : 'reopened'
    this.#isLearned = false
    this.#doublings = Math.min(this.#doublings + 1, MAX_DOUBLINGS)
    this.#leaveAlone(now, retryAfterMs)
    return change
  }

  /** Opens the circuit. The delay that the target asks for is a minimum, within the maximum. */
  #leaveAlone(now: number, retryAfterMs: number): void {
    const backoffMs = MIN_OPEN_MS * 2 ** this.#doublings * (1 + JITTER * (2 * this.#random() - 1))
    const askedMs = retryAfterMs * (1 + JITTER * this.#random())
    this.#state = 'open'
    this.#until = now + Math.min(MAX_OPEN_MS, Math.max(backoffMs, askedMs))
  }

  #countFailure({ taskId, retryAfterMs = 0 }: CallResult): void {
    if (this.#failures === 0) {
      this.#failingTask = taskId
      this.#areSeveral = false
      this.#retryAfterMs = 0
    } else if (taskId !== this.#failingTask) this.#areSeveral = true
    this.#failures++
    this.#retryAfterMs = Math.max(this.#retryAfterMs, retryAfterMs)
  }

  #mustOpen(now: number): boolean {
    if (this.#failures < OPENING_FAILURES) return false
    return this.#areSeveral || now - this.#otherTaskAt > ONLY_TASK_MS
  }

  #sawTask(taskId: string, now: number): void {
    if (this.#lastTask !== '') this.#otherTaskAt = now
    this.#lastTask = taskId
  }
}

/** Whether a call got no usable answer from the target. */
export const isNoAnswer = ({ kind }: CallResult): boolean =>
  kind === 'unreachable' || kind === 'timed_out' || kind === 'overloaded'

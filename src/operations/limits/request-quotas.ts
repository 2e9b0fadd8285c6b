/**
 * Counts requests against the rates of projects and keys, across all nodes. One statement at a time leases requests for all
 * quotas of this node that need some; between statements, LeasedQuota decides about each request.
 */
import { LeasedQuota, type Taking } from '../../core/limits/leased-quota.ts'
import { type RatePolicy, ratePolicy } from '../../core/limits/rate-policy.ts'
import { Loop } from '../../runtime/loop.ts'
import type { Service } from '../../runtime/service.ts'
import type { Queryable } from '../../store/database/database.ts'
import { insertQuotas, leaseRequests, type QuotaRequest } from '../../store/limits/request-quotas.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** A project or key whose requests are counted together. */
export interface QuotaSubject {
  readonly kind: 'project' | 'key'
  readonly id: string
  /** The allowed rate of requests, such as `100/s`. */
  readonly rate: string
}

/** The state of a quota, for the headers of a response. */
export interface QuotaState {
  readonly kind: QuotaSubject['kind']
  readonly policy: RatePolicy
  readonly remaining: number
  /** Milliseconds until another request is allowed. */
  readonly opensInMs: number
}

/** Whether a request is allowed; `refusedBy` is the subject whose quota is used up, or null. */
export interface QuotaDecision {
  readonly refusedBy: QuotaSubject | null
  readonly states: readonly QuotaState[]
}

interface Counted {
  readonly policy: RatePolicy
  readonly quota: LeasedQuota
  /** Requests that wait for the next statement's answer. */
  waiting: (() => void)[]
}

/** Minimum interval between statements that no request waits for. */
const PAUSE_MS = 25
/** How often unused quotas are looked for, and how long a quota must be idle to be dropped. */
const SWEEP_MS = 250
const FORGOTTEN_AFTER_MS = 60_000
/** Maximum number of quotas per statement. */
const BATCH = 500
/** A request waits at most this long for an answer; then it is allowed. */
const LONGEST_WAIT_MS = 250
/** Maximum number of answers that a request waits for: other requests may use up first what was leased for it. */
const MAX_TURNS = 3

export class RequestQuotas implements Service {
  readonly #db: Queryable
  readonly #log: Logger
  readonly #counted = new Map<string, Counted>()
  readonly #sweep: Loop
  #isAsking = false
  #timer: NodeJS.Timeout | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #isStopped = false

  constructor({ db, log }: { db: Queryable; log: Logger }) {
    this.#db = db
    this.#log = log
    this.#sweep = new Loop({ name: 'request quotas', everyMs: SWEEP_MS, log, runOnce: () => this.#tidy() })
  }

  start(): void {
    this.#sweep.start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#sweep.stop()
  }

  /** Counts a request for each of the subjects, or for none of them if one of the quotas is used up. */
  take(subjects: readonly QuotaSubject[]): QuotaDecision | Promise<QuotaDecision> {
    const taken: Counted[] = []
    for (const [index, subject] of subjects.entries()) {
      const counted = this.#countedFor(subject)
      const taking = counted.quota.take(performance.now())
      if (taking === 'unknown') return this.#takeLater(subjects, index, taken)
      if (taking === 'refused') return this.#decision(subjects, subject, taken)
      taken.push(counted)
      this.#askSoon(counted)
    }
    return this.#decision(subjects, null, [])
  }

  /** Continues `take` from the subject whose quota must be requested from the database first. */
  async #takeLater(
    subjects: readonly QuotaSubject[],
    from: number,
    taken: Counted[],
  ): Promise<QuotaDecision> {
    for (const [index, subject] of subjects.entries()) {
      if (index < from) continue
      const counted = this.#countedFor(subject)
      let taking: Taking = index === from ? 'unknown' : counted.quota.take(performance.now())
      if (taking === 'unknown') taking = await this.#answered(counted)
      if (taking === 'refused') return this.#decision(subjects, subject, taken)
      taken.push(counted)
      this.#askSoon(counted)
    }
    return this.#decision(subjects, null, [])
  }

  #decision(
    subjects: readonly QuotaSubject[],
    refusedBy: QuotaSubject | null,
    undone: readonly Counted[],
  ): QuotaDecision {
    for (const { quota } of undone) quota.giveBack()
    const now = performance.now()
    const states = subjects.map((subject) => {
      const { quota, policy } = this.#countedFor(subject)
      return { kind: subject.kind, policy, remaining: quota.remaining(now), opensInMs: quota.opensInMs(now) }
    })
    return { refusedBy, states }
  }

  /** Returns whether a request may go on, after requesting more for its quota. */
  async #answered(counted: Counted): Promise<'taken' | 'refused'> {
    const { quota } = counted
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      // As many requests wait already as an answer can allow at most.
      if (counted.waiting.length >= quota.policy.burst) return 'refused'
      if (await this.#isLate(counted)) {
        quota.lend()
        return 'taken'
      }
      const taking = quota.retake(performance.now())
      if (taking !== 'unknown') return taking
    }
    return 'refused'
  }

  /** Waits for the next answer; true if it takes too long. */
  #isLate(counted: Counted): Promise<boolean> {
    return new Promise((resolve) => {
      // An answer that has already arrived takes precedence: if this process was busy, that says nothing about the database.
      const timer = setTimeout(() => setImmediate(resolve, true), LONGEST_WAIT_MS)
      counted.waiting.push(() => {
        clearTimeout(timer)
        resolve(false)
      })
      this.#askNow()
    })
  }

  #countedFor({ id, rate }: QuotaSubject): Counted {
    const found = this.#counted.get(id)
    const policy = ratePolicy(rate)
    if (found?.policy === policy) return found
    const counted = {
      policy,
      quota: new LeasedQuota(policy, performance.now()),
      waiting: found?.waiting ?? [],
    }
    this.#counted.set(id, counted)
    return counted
  }

  #askSoon({ quota }: Counted): void {
    if (this.#timer || this.#isAsking || !quota.shouldAsk(performance.now())) return
    const inMs = Math.max(0, this.#askedAt + PAUSE_MS - performance.now())
    this.#timer = setTimeout(() => this.#askNow(), inMs)
    this.#timer.unref()
  }

  #askNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isAsking || this.#isStopped) return
    this.#isAsking = true
    this.#ask()
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'cannot request API quotas from the database; retrying'),
      )
      .finally(() => {
        this.#isAsking = false
        if (this.#mustAskAgain()) this.#askNow()
      })
  }

  #mustAskAgain(): boolean {
    for (const { waiting } of this.#counted.values()) if (waiting.length > 0) return true
    return false
  }

  async #ask(): Promise<void> {
    const now = performance.now()
    this.#askedAt = now
    const asked = [...this.#counted]
      .filter(([, { quota, waiting }]) => waiting.length > 0 || quota.shouldAsk(now))
      .slice(0, BATCH)
      .map(([id, counted]) => {
        const { quota, policy, waiting } = counted
        counted.waiting = []
        return { id, counted, waiting, request: { id, ...policy, ...quota.ask(now, waiting.length) } }
      })
    if (asked.length === 0) return
    let answers: Map<string, { granted: number; left: number; opensInMs: number }> | null = null
    try {
      answers = new Map((await this.#lease(asked.map(({ request }) => request))).map((row) => [row.id, row]))
    } finally {
      for (const { id, counted, waiting, request } of asked) {
        const answer = answers?.get(id)
        if (answer) counted.quota.answer(answer, request.wanted, performance.now())
        else counted.quota.noAnswer(performance.now())
        for (const goOn of waiting) goOn()
      }
    }
  }

  async #lease(requests: readonly QuotaRequest[]) {
    const rows = await this.#db.run(leaseRequests(requests))
    if (rows.length === requests.length) return rows
    const known = new Set(rows.map(({ id }) => id))
    const missing = requests.filter(({ id }) => !known.has(id))
    await this.#db.run(insertQuotas(missing.map(({ id }) => id)))
    return [...rows, ...(await this.#db.run(leaseRequests(missing)))]
  }

  /** Gives back unused requests, and drops idle quotas. */
  async #tidy(): Promise<undefined> {
    const now = performance.now()
    let isUnused = false
    for (const [id, { quota, waiting }] of this.#counted) {
      if (quota.shouldAsk(now)) isUnused = true
      else if (waiting.length === 0 && quota.isIdle(now, FORGOTTEN_AFTER_MS)) this.#counted.delete(id)
    }
    if (isUnused) this.#askNow()
  }
}

/**
 * Delivers events for one subscription while its lease is valid: one page of history after another, each event by a
 * separate POST or several in a batch. Events of one task are sent one after another, those of different tasks concurrently.
 * The stored progress covers only a complete prefix, so after a crash some events are sent again and none is left out.
 *
 * A task whose event is rejected is suspended: its events are retried separately, and other tasks continue
 * (suspended-tasks.ts). If several tasks fail and nothing is accepted in between, the receiver is failing: nothing is sent
 * for a while, and none of these tasks is suspended.
 *
 * If events were deleted before they could be delivered, the subscription says so before its position moves on (gap.ts).
 *
 * If other subscriptions wait for the slot, the delivery ends after the page in progress, because after a part of it the next
 * one would repeat some events.
 */
import {
  type EventPosition,
  formatPosition,
  frontierAt,
  isBehind,
  parsePosition,
} from '../../core/run/frontier.ts'
import {
  eventOf,
  type HistoryEvent,
  isCircuitEvent,
  isWanted,
  sourceOf,
  streamOf,
} from '../../core/run/history-event.ts'
import type { HttpClient } from '../../outgoing/http-client.ts'
import type { EndpointKeys } from '../../outgoing/signer.ts'
import type { Interruptions } from '../../runtime/leased-work.ts'
import { releaseSubscription, saveFailed } from '../../store/events/deliveries.ts'
import type { HistoryPage } from '../history-page.ts'
import type { HistoryTail } from '../history-tail.ts'
import { backoffMs } from './backoff.ts'
import { DeliveryLease, type DeliveryLeaseOptions, LeaseLost } from './delivery-lease.ts'
import { sendMessage, type Undelivered } from './message.ts'
import { readSuspended, type Suspended, SuspendedTasks } from './suspended-tasks.ts'

/** Number of tasks whose events are sent concurrently, so that with 30 ms per response a thousand events can be sent per second. */
const LANES = 32
/** Number of suspended tasks retried in addition. */
const SUSPENDED_LANES = 4
/** Number of events sent for a suspended task before others get their turn. */
const SUSPENDED_TURN = 100
/** If this many tasks fail and nothing is accepted, the receiver is failing. */
const FAILING_TASKS = 3
/** How often progress is stored within a page. */
const SAVE_EVERY_MS = 1_000
const SHORTEST_WAIT_MS = 20
/** If others wait, nothing more is sent after this time, even if the page in progress is not complete. */
const LAST_PAGE_MS = 25_000

export interface DeliveryOptions extends DeliveryLeaseOptions, Interruptions {
  readonly tail: HistoryTail
  readonly client: HttpClient
  readonly userAgent: string
  readonly keys: EndpointKeys
  readonly random?: () => number
}

export class Delivery {
  readonly #options: DeliveryOptions
  readonly #lease: DeliveryLease
  readonly #suspended: SuspendedTasks
  readonly #inProgress = new Set<Promise<void>>()
  /** Tasks with a rejected message since the last accepted one. */
  readonly #failing = new Set<string>()
  /** The position up to which everything was delivered, except for suspended tasks. */
  #position: EventPosition
  #savedAt = performance.now()
  #isSaving = false
  #unsaved = 0
  #lastEvent: { id: string; at: number } | null = null
  /** Whether the receiver failed last time: until it accepts a message, one is sent at a time. */
  #isSuspect: boolean
  /** Why nothing more is sent; null while sending continues. */
  #failure: Undelivered | null = null
  #broken: unknown
  /** On the monotonic clock. */
  #mustEndAt = Number.POSITIVE_INFINITY
  #endWait = () => {}

  constructor(options: DeliveryOptions) {
    const { subscription, random = Math.random } = options
    this.#options = options
    this.#lease = new DeliveryLease(options)
    this.#suspended = new SuspendedTasks(subscription.held, random)
    this.#isSuspect = subscription.failures > 0
    this.#position = parsePosition(subscription.position) ?? { from: frontierAt(0), to: null, at: null }
  }

  /** Delivers until it is interrupted, has lost its lease, or the receiver fails; then another lease continues. */
  async run(): Promise<void> {
    const { db, tail, subscription, stopping, turnOver } = this.#options
    const { id, holder } = subscription
    const stopFollowing = await tail.follow()
    const wake = () => this.#endWait()
    const endTurn = () => {
      this.#mustEndAt = performance.now() + LAST_PAGE_MS
      wake()
    }
    stopping.addEventListener('abort', wake)
    turnOver.addEventListener('abort', endTurn)
    if (turnOver.aborted) endTurn()
    try {
      await this.#deliverAll()
    } catch (error) {
      this.#broken ??= error
    } finally {
      stopping.removeEventListener('abort', wake)
      turnOver.removeEventListener('abort', endTurn)
      await Promise.all(this.#inProgress)
      stopFollowing()
      await db.run(releaseSubscription({ id, holder }))
    }
    if (this.#broken && !(this.#broken instanceof LeaseLost)) throw this.#broken
  }

  /** Whether nothing more is to be sent: the node stops, others wait, the receiver fails, or the lease is lost. */
  get #isOver(): boolean {
    const { stopping } = this.#options
    const hasFailed = this.#failure !== null || this.#broken !== undefined
    return stopping.aborted || hasFailed || performance.now() >= this.#mustEndAt
  }

  async #deliverAll(): Promise<void> {
    const { tail, leaseMs, turnOver } = this.#options
    while (!this.#isOver) {
      await this.#takeHome()
      this.#deliverSuspended()
      const page = await tail.page(this.#position)
      if (page !== null) {
        await this.#lease.noteGap(this.#position)
        await this.#deliverPage(page)
      }
      if (this.#isOver || turnOver.aborted) break
      const isDue = performance.now() - this.#savedAt >= leaseMs / 6
      if (isDue || this.#unsaved > 0 || this.#suspended.isChanged) await this.#save()
      if (page === null) await this.#wait()
    }
    if (this.#broken) throw this.#broken
    await Promise.all(this.#inProgress)
    if (this.#failure) return this.#fail(this.#failure)
    await this.#save()
  }

  /**
   * Resumes suspended tasks that have caught up with the others. For one that is nearly there the others wait, because they
   * would otherwise move on ahead of it.
   */
  async #takeHome(): Promise<void> {
    const task = this.#suspended.nearly(this.#position)
    if (task) await this.#deliverTo(task)
    this.#suspended.release(this.#position)
  }

  /** Waits until there may be new events, a suspended task is due, or one has been handled. */
  async #wait(): Promise<void> {
    const { tail, leaseMs, clock, stopping, turnOver } = this.#options
    const woken = new AbortController()
    this.#endWait = () => woken.abort()
    const nextAt = this.#suspended.nextAt
    const dueInMs = nextAt === null ? leaseMs : Math.max(SHORTEST_WAIT_MS, nextAt - clock.now())
    if (stopping.aborted || turnOver.aborted) woken.abort()
    await tail.wait(Math.min(leaseMs / 6, dueInMs), woken.signal)
  }

  /** Delivers a page, and advances the position over all events in it that were accepted or belong to suspended tasks. */
  async #deliverPage(page: HistoryPage): Promise<void> {
    const { subscription } = this.#options
    const start = this.#position
    const wanted = page.rows.filter(
      (run) => run.projectId === subscription.projectId && isWanted(run, this.#lease.settings.filter),
    )
    const lanes = this.#lanesOf(wanted)
    const taken = new Set<HistoryEvent>()
    let count = 0
    const positionBefore = (index: number) =>
      index === 0 ? start : page.positionAt(wanted[index - 1] as HistoryEvent)
    const isDealtWith = (run: HistoryEvent) => taken.has(run) || this.#suspended.has(streamOf(run))
    const advance = () => {
      for (let run = wanted[count]; run && isDealtWith(run); run = wanted[count]) count++
      this.#position = positionBefore(count)
    }
    const deliver = async (all: readonly HistoryEvent[]): Promise<void> => {
      const message = all.filter((run) => !isDealtWith(run))
      const [first] = message
      if (!first || this.#isOver) return
      const failure = await this.#post(message)
      if (failure === null) {
        for (const run of message) taken.add(run)
        this.#noteTaken(message)
        if (!this.#isSaving && performance.now() - this.#savedAt >= SAVE_EVERY_MS) {
          advance()
          await this.#save()
        }
      } else if (message.length > 1 && !failure.isFinal) for (const run of message) await deliver([run])
      else this.#noteRefused(first, failure, positionBefore(wanted.indexOf(first)))
    }
    const work = async () => {
      for (let lane = lanes.shift(); lane; lane = lanes.shift())
        for (const message of lane) await deliver(message)
    }
    // While the receiver is suspect, one message is sent at a time until one is accepted.
    while (this.#isSuspect && lanes.length > 0 && !this.#isOver)
      for (const message of lanes.shift() ?? []) await deliver(message)
    // A sender that finds the lease lost stops the others; no message is in progress when the loss is reported.
    await Promise.all(Array.from({ length: LANES }, () => work().catch((error) => this.#break(error))))
    advance()
    if (count === wanted.length && !this.#isOver) this.#position = page.next
  }

  /** Returns sequences of messages. Single events of different tasks do not wait for each other. */
  #lanesOf(wanted: readonly HistoryEvent[]): HistoryEvent[][][] {
    const { batchSize } = this.#lease.settings
    if (batchSize > 1) {
      const rest = wanted.filter((event) => !this.#suspended.has(streamOf(event)))
      const batches: HistoryEvent[][] = []
      for (let i = 0; i < rest.length; i += batchSize) batches.push(rest.slice(i, i + batchSize))
      return [batches]
    }
    const byStream = new Map<string, HistoryEvent[][]>()
    for (const event of wanted) {
      const lane = byStream.get(streamOf(event))
      if (lane) lane.push([event])
      else byStream.set(streamOf(event), [[event]])
    }
    return [...byStream.values()]
  }

  /** Delivers to suspended tasks that are due, concurrently with everything else. */
  #deliverSuspended(): void {
    for (const task of this.#suspended.due(this.#options.clock.now(), SUSPENDED_LANES)) {
      const told = this.#deliverTo(task).finally(() => {
        this.#inProgress.delete(told)
        this.#endWait()
      })
      this.#inProgress.add(told)
    }
  }

  async #deliverTo(task: Suspended): Promise<void> {
    task.isBusy = true
    try {
      await this.#deliverBacklog(task)
    } catch (error) {
      this.#break(error)
    } finally {
      task.isBusy = false
    }
  }

  /** Delivers the events of one suspended task that the others have passed, until one is rejected. */
  async #deliverBacklog(task: Suspended): Promise<void> {
    const { db, clock, subscription } = this.#options
    for (let told = 0; told < SUSPENDED_TURN; ) {
      const page = await readSuspended(db, task, this.#position)
      if (page === null) return
      await this.#lease.noteGap(task.position)
      for (const run of page.rows) {
        // The others have not come this far, and will skip the event only when they do.
        if (this.#isOver || !isBehind(this.#position, run)) return
        if (run.projectId === subscription.projectId && isWanted(run, this.#lease.settings.filter)) {
          const failure = await this.#post([run])
          if (failure?.isFinal) this.#failure ??= failure
          if (failure) return this.#suspended.noteFailure(task, failure, this.#patience)
          this.#noteTaken([run])
          told++
        }
        this.#suspended.noteTaken(task, page.positionAt(run), clock.now())
      }
      this.#suspended.moveTo(task, page.next)
    }
  }

  get #patience() {
    return { now: this.#options.clock.now(), giveUpAfterMs: this.#lease.settings.giveUpAfterMs }
  }

  #noteTaken(runs: readonly HistoryEvent[]): void {
    this.#failing.clear()
    this.#isSuspect = false
    this.#unsaved += runs.length
    const last = runs.at(-1)
    if (last) this.#lastEvent = { id: eventOf(last).id, at: Math.floor(last.us / 1_000) }
  }

  /** Suspends the task of a rejected event, unless the receiver is failing. */
  #noteRefused(event: HistoryEvent, failure: Undelivered, position: EventPosition): void {
    this.#failing.add(streamOf(event))
    // The audit log is one sequence: a rejected entry delays all later ones.
    const isSequence = sourceOf(this.#lease.settings.filter) === 'audit-log'
    // If the turn ends before it is clear whether the receiver is failing, it counts as failing: otherwise, it would get a slot for every
    // few messages that it does not answer.
    const isUnclear = this.#isSuspect && performance.now() >= this.#mustEndAt
    const isFailing = isSequence || isUnclear || this.#failing.size >= FAILING_TASKS
    if (failure.isFinal || isFailing || this.#suspended.isFull) {
      this.#failure ??= failure
      this.#suspended.dropUnsaved()
    } else if (!this.#isOver) {
      const target = isCircuitEvent(event) ? event.target : null
      const task = this.#suspended.suspend(
        { taskId: streamOf(event), target },
        position,
        this.#options.clock.now(),
      )
      this.#suspended.noteFailure(task, failure, this.#patience)
    }
  }

  #break(error: unknown): void {
    this.#broken ??= error
  }

  async #post(runs: readonly HistoryEvent[]): Promise<Undelivered | null> {
    const { client, clock, userAgent, subscription, keys, leaseMs } = this.#options
    // The response must arrive while no other node may deliver, or a later message could overtake this one.
    const timeoutMs = Math.floor(leaseMs / 3)
    await this.#lease.ensure(timeoutMs)
    const { settings } = this.#lease
    const now = clock.now()
    return sendMessage(runs, { client, userAgent, subscription, keys, settings, timeoutMs, now })
  }

  async #save(): Promise<void> {
    this.#isSaving = true
    const delivered = this.#unsaved
    this.#unsaved = 0
    const isFailing = this.#suspended.isFailing
    const position = formatPosition(this.#position)
    const progress = {
      position,
      held: this.#suspended.toStore(),
      delivered,
      lastEvent: this.#lastEvent,
      isFailing,
    }
    this.#savedAt = performance.now()
    await this.#lease.save(progress)
    this.#isSaving = false
  }

  async #fail({ error, isFinal, retryAfterMs }: Undelivered): Promise<void> {
    const { db, subscription, random = Math.random } = this.#options
    await this.#save()
    const { id, fence } = subscription
    const retryInMs = Math.max(retryAfterMs ?? 0, backoffMs(this.#lease.settings.failures, random))
    await db.run(saveFailed({ id, fence, error, retryInMs, isFinal }))
    throw new LeaseLost()
  }
}

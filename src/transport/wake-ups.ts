/**
 * Notifies nodes that there is work. A wake-up is only a hint: a node that misses one finds the same work by polling, a little
 * later. No decision depends on the content of a wake-up.
 */

/** A hint that a run will come due in a shard. */
export interface DueHint {
  readonly shard: number
  readonly at: number
  /** The last instant, if the hint stands for several runs. */
  readonly until?: number
}

/** Sends and receives wake-ups. */
export interface WakeUps {
  /** Rows were written that come due at these instants. */
  announceDue(hints: readonly DueHint[]): void
  /** Runs were put into `ready`. */
  announceReady(): void
  /** A queue was paused, resumed, or has another limit. */
  announceQueues(): void
  /** The settings of a target have changed, or a circuit has opened or closed. */
  announceTargets(): void
  /** A user asked that running attempts be stopped. */
  announceCancel(): void
  /** Keys were created, revoked or changed, or projects created, archived or restored. */
  announceAccess(): void
  onDue(listener: (hints: readonly DueHint[]) => void): void
  onReady(listener: () => void): void
  onQueues(listener: () => void): void
  onTargets(listener: () => void): void
  onCancel(listener: () => void): void
  onAccess(listener: () => void): void
}

/** Wake-ups within one process, sufficient if it is the only one. */
export class LocalWakeUps implements WakeUps {
  readonly #due: ((hints: readonly DueHint[]) => void)[] = []
  readonly #ready: (() => void)[] = []
  readonly #queues: (() => void)[] = []
  readonly #targets: (() => void)[] = []
  readonly #cancel: (() => void)[] = []
  readonly #keys: (() => void)[] = []

  announceDue(hints: readonly DueHint[]): void {
    for (const listener of this.#due) listener(hints)
  }

  announceReady(): void {
    for (const listener of this.#ready) listener()
  }

  announceQueues(): void {
    for (const listener of this.#queues) listener()
  }

  announceTargets(): void {
    for (const listener of this.#targets) listener()
  }

  announceCancel(): void {
    for (const listener of this.#cancel) listener()
  }

  announceAccess(): void {
    for (const listener of this.#keys) listener()
  }

  onDue(listener: (hints: readonly DueHint[]) => void): void {
    this.#due.push(listener)
  }

  onReady(listener: () => void): void {
    this.#ready.push(listener)
  }

  onQueues(listener: () => void): void {
    this.#queues.push(listener)
  }

  onTargets(listener: () => void): void {
    this.#targets.push(listener)
  }

  onCancel(listener: () => void): void {
    this.#cancel.push(listener)
  }

  onAccess(listener: () => void): void {
    this.#keys.push(listener)
  }
}

/**
 * Everything that the checker looks at, as four witnesses recorded it: the client (requests and answers), the sink
 * (deliveries), the nemesis (faults), and the observer (the tables at the end, and each change before). Nothing here comes from
 * the product's code. Instants are epoch milliseconds.
 */
export interface Evidence {
  readonly requests: readonly ClientRequest[]
  readonly deliveries: readonly Delivery[]
  readonly faults: readonly Fault[]
  readonly tables: Tables
  /** What remote workers were told about the ends that they reported. */
  readonly receipts?: readonly Receipt[]
  readonly bounds?: Partial<Bounds>
  /** Nodes share connections to the database, so a connection does not identify a node. */
  readonly isPooled?: boolean
}

export interface Bounds {
  /** Clocks of two processes on one machine agree to within this. */
  readonly earlyMs: number
  /** How late a run may start while nothing is broken. */
  readonly lateMs: number
  /** A retry may come this much before the instant that its backoff or the receiver asked for. */
  readonly earlyRetryMs: number
  /** How long after its backoff a retry must have been made. */
  readonly retryMs: number
  /** How long a run may go on after it was told to stop, or after a later one was to take its place. */
  readonly stopMs: number
  /** How long a run may wait for a worker, with nobody working on it, before it counts as lost. */
  readonly idleMs: number
  /** Like `idleMs`, for rows that no node has seen to be due: nodes look through all rows only now and then. */
  readonly unseenMs: number
}

/** What reliability-invariants.md calls quiet: never more than a second late. */
export const QUIET: Bounds = {
  earlyMs: 5,
  earlyRetryMs: 5,
  lateMs: 1_000,
  retryMs: 2_000,
  stopMs: 10_000,
  idleMs: 30_000,
  unseenMs: 40_000,
}

/** One request of a client. Without a status there was no answer: it may have been carried out or not. */
export interface ClientRequest {
  readonly verb:
    | 'create'
    | 'trigger'
    | 'cancel_run'
    | 'cancel_task'
    | 'delete_task'
    | 'pause'
    | 'resume'
    | 'limit_queue'
  readonly askedAt: number
  readonly answeredAt: number | null
  readonly status: number | null
  /** Requests with the same idempotency key ask for the same task. */
  readonly idempotencyKey: string | null
  readonly taskId: string | null
  readonly runId: string | null
  /** The body of a create, as it was sent. */
  readonly body: TaskBody | null
  /** When the task was created, according to the answer. */
  readonly createdAt: number | null
  /** A queue whose limit the request sets. */
  readonly queue?: { readonly name: string; readonly limit: number | null }
}

/** The fields of a task that say what is owed; all others are of no concern here. */
export interface TaskBody {
  readonly misfire?: { readonly policy?: string }
  readonly key?: string
  readonly action: { readonly type: string; readonly url?: string }
  readonly schedule?: Readonly<Record<string, unknown>> & { readonly type: string }
  readonly startAt?: string
  readonly endAt?: string
  readonly maxRuns?: number
  readonly overlap?: string
  readonly priority?: number
  readonly queue?: string
  readonly queueTimeout?: string
  readonly retry?: { readonly limit?: number; readonly initial?: string; readonly max?: string }
  readonly concurrencyKey?: string
  readonly concurrencyLimit?: number
}

/** One HTTP request that reached the sink, and what the sink did about it. */
export interface Delivery {
  readonly path: string
  readonly receivedAt: number
  /** When it was answered; null when the answer was never handed over. */
  answeredAt: number | null
  /** When the caller was found to have disconnected before it was answered. */
  goneAt: number | null
  status: number | null
  /** How long the answer asked the sender to wait before a retry. */
  readonly retryAfterMs: number | null
  readonly messageId: string
  readonly taskId: string
  readonly scheduledFor: number
  readonly fence: number
  readonly attempt: number
}

/** A worker reported the end of an attempt, and was told whether it counts. */
export interface Receipt {
  readonly at: number
  readonly runId: string
  readonly fence: number
  readonly workerId: string
  readonly isRecorded: boolean
}

/** A fault that was injected, from when to when. */
export interface Fault {
  readonly kind: 'kill' | 'pause' | 'stop' | 'declare_dead' | 'take_shards' | 'kill_database' | 'lose_answers'
  readonly from: number
  readonly until: number
  /** How long after the end of the fault everything must be back to normal. */
  readonly recoveryMs: number
  /** Numbers of the affected processes; an empty list stands for all of them. */
  readonly processes: readonly number[]
}

/** What the observer read. */
export interface Tables {
  /** The database's time when it was read. */
  readonly readAt: number
  readonly tasks: readonly { readonly id: string; readonly key: string | null }[]
  readonly live: readonly LiveRow[]
  readonly history: readonly HistoryRow[]
  readonly attempts: readonly AttemptRow[]
  readonly nodes: readonly NodeRow[]
  /** Gates of concurrency keys, and of queues if `key` is null. */
  readonly gates: readonly { readonly queue: string; readonly key: string | null; readonly held: number }[]
  /** Each change of a live row, in order; null if changes were not recorded. */
  readonly changes: readonly Change[] | null
  /** Each change of the owner of a shard. */
  readonly owners: readonly OwnerChange[]
}

export interface LiveRow {
  readonly runId: string
  readonly taskId: string
  readonly kind: string
  readonly state: string
  readonly scheduledFor: number
  readonly wakeAt: number
  readonly fence: number
  readonly attempt: number
  /** In how many gates the run uses a slot. */
  readonly places: number
}

export interface HistoryRow {
  readonly runId: string
  readonly taskId: string
  readonly kind: string
  readonly state: string
  readonly outcome: string | null
  readonly reason: string | null
  readonly scheduledFor: number
  /** The last occurrence that a skip covers. */
  readonly coversUntil: number | null
  readonly startedAt: number | null
  readonly endedAt: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  readonly workerId: string | null
}

/** An attempt that was followed by another. */
export interface AttemptRow {
  readonly runId: string
  readonly number: number
  readonly fence: number
  readonly outcome: string
  readonly startedAt: number | null
  readonly endedAt: number
  readonly workerId: string | null
}

export interface NodeRow {
  readonly id: string
  /** The number of its process. */
  readonly process: number
  readonly isScheduler: boolean
  /** A remote worker, for which api nodes claim. */
  readonly isRemote?: boolean
  readonly deadAt: number | null
}

/** A live row was inserted, changed or deleted. Null stands for no row. */
export interface Change {
  readonly at: number
  readonly runId: string
  readonly taskId: string
  readonly scheduledFor: number
  readonly shard: number
  readonly from: string | null
  readonly to: string | null
  readonly fenceBefore: number | null
  readonly fence: number | null
  readonly workerBefore: string | null
  readonly workerId: string | null
  /** The connection by which it was made, which belongs to one node. */
  readonly backend: number
  /** It is told to stop from this change on. */
  readonly isStopped?: boolean
}

export interface OwnerChange {
  readonly at: number
  readonly shard: number
  readonly owner: string | null
}

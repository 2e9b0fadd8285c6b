/** The evidence in order: by task, by run, by time. Every rule reads it from here. */
import {
  type AttemptRow,
  type Bounds,
  type Change,
  type ClientRequest,
  type Delivery,
  type Evidence,
  type Fault,
  type HistoryRow,
  type LiveRow,
  QUIET,
  type Receipt,
  type Tables,
  type TaskBody,
} from './evidence.ts'

/** A task that a client requested and that was accepted, with the later requests about it. */
export interface Wish {
  readonly taskId: string
  readonly body: TaskBody
  readonly createdAt: number
  /** When the request to end the task was sent, and when it was answered. */
  readonly end: Moment | null
  /** When the task was paused, and when it was resumed. */
  readonly pauses: readonly { readonly from: Moment; readonly to: Moment | null }[]
}

/** A request takes effect at some instant between being sent and being answered. */
export interface Moment {
  readonly askedAt: number
  readonly answeredAt: number
}

export interface Book {
  readonly requests: readonly ClientRequest[]
  readonly tables: Tables
  readonly faults: readonly Fault[]
  readonly bounds: Bounds
  readonly isPooled: boolean
  readonly receipts: readonly Receipt[]
  readonly wishes: ReadonlyMap<string, Wish>
  readonly history: Grouped<HistoryRow>
  readonly historyOfTask: Grouped<HistoryRow>
  readonly live: ReadonlyMap<string, LiveRow>
  readonly liveOfTask: Grouped<LiveRow>
  readonly attempts: Grouped<AttemptRow>
  readonly deliveries: Grouped<Delivery>
  readonly deliveriesOfTask: Grouped<Delivery>
  readonly deliveriesAt: Grouped<Delivery>
  readonly changes: Grouped<Change>
  readonly changesOfTask: Grouped<Change>
  /** Whether a fault that began before the instant can have cost this worker its leases. */
  isBroken(workerId: string | null, at: number): boolean
  /** Returns the latest instant at which something due at the given instant may begin, given the faults around that time. */
  latestStart(due: number, boundMs?: number): number
}

/** Lists by key; a key that is not there has an empty one. */
export class Grouped<T> {
  readonly #lists = new Map<string, T[]>()

  constructor(items: readonly T[], keyOf: (item: T) => string, order: (item: T) => number) {
    for (const item of [...items].sort((a, b) => order(a) - order(b))) {
      const list = this.#lists.get(keyOf(item))
      if (list) list.push(item)
      else this.#lists.set(keyOf(item), [item])
    }
  }

  of(key: string): readonly T[] {
    return this.#lists.get(key) ?? []
  }

  keys(): Iterable<string> {
    return this.#lists.keys()
  }
}

const COSTS_LEASES: readonly Fault['kind'][] = ['kill', 'pause', 'declare_dead', 'kill_database']

export function openBook({
  requests,
  deliveries,
  faults,
  tables,
  bounds: stated,
  isPooled = false,
  receipts = [],
}: Evidence): Book {
  const bounds = { ...QUIET, ...stated }
  const processOf = new Map(tables.nodes.map(({ id, process }) => [id, process]))
  const touches = (fault: Fault, workerId: string | null) =>
    fault.processes.length === 0 || fault.processes.includes(processOf.get(workerId ?? '') ?? -1)
  const inOrder = [...faults].sort((a, b) => a.from - b.from)
  return {
    requests,
    tables,
    bounds,
    isPooled,
    receipts,
    faults,
    wishes: wishesOf(requests),
    history: new Grouped(
      tables.history,
      (row) => row.runId,
      (row) => row.endedAt,
    ),
    historyOfTask: new Grouped(
      tables.history,
      (row) => row.taskId,
      (row) => row.scheduledFor,
    ),
    live: new Map(tables.live.map((row) => [row.runId, row])),
    liveOfTask: new Grouped(
      tables.live,
      (row) => row.taskId,
      (row) => row.scheduledFor,
    ),
    attempts: new Grouped(
      tables.attempts,
      (row) => row.runId,
      (row) => row.number,
    ),
    deliveries: new Grouped(
      deliveries,
      (delivery) => delivery.messageId,
      (delivery) => delivery.receivedAt,
    ),
    deliveriesOfTask: new Grouped(
      deliveries,
      (delivery) => delivery.taskId,
      (delivery) => delivery.receivedAt,
    ),
    deliveriesAt: new Grouped(
      deliveries,
      (delivery) => delivery.path,
      (delivery) => delivery.answeredAt ?? Number.MAX_SAFE_INTEGER,
    ),
    changes: new Grouped(
      tables.changes ?? [],
      (change) => change.runId,
      () => 0,
    ),
    changesOfTask: new Grouped(
      tables.changes ?? [],
      (change) => change.taskId,
      () => 0,
    ),
    isBroken: (workerId, at) =>
      faults.some(
        (fault) => COSTS_LEASES.includes(fault.kind) && fault.from <= at && touches(fault, workerId),
      ),
    latestStart: (due, boundMs = bounds.lateMs) => {
      let latest = due + boundMs
      for (const { from, until, recoveryMs } of inOrder)
        if (from <= latest && until + recoveryMs > latest) latest = until + recoveryMs
      return latest
    },
  }
}

const isOk = ({ status }: ClientRequest) => status !== null && status < 300
const isRefused = ({ status }: ClientRequest) => status !== null && status >= 300 && status < 500

function wishesOf(requests: readonly ClientRequest[]): Map<string, Wish> {
  const wishes = new Map<string, Wish>()
  for (const { verb, taskId, body, createdAt, ...request } of requests) {
    if (verb === 'create' && isOk({ verb, taskId, body, createdAt, ...request }) && taskId && body)
      wishes.set(taskId, {
        taskId,
        body,
        createdAt: createdAt ?? request.askedAt,
        ...changesOf(requests, taskId),
      })
  }
  return wishes
}

function changesOf(requests: readonly ClientRequest[], taskId: string): Pick<Wish, 'end' | 'pauses'> {
  const about = requests.filter((request) => request.taskId === taskId && !isRefused(request))
  // A request may have been sent several times: its moment begins with the first request and ends with the first successful
  // answer.
  const moments = (...verbs: ClientRequest['verb'][]): Moment[] => {
    const found: Moment[] = []
    let askedAt: number | null = null
    for (const request of about.filter(({ verb }) => verbs.includes(verb))) {
      askedAt ??= request.askedAt
      if (!isOk(request) || request.answeredAt === null) continue
      found.push({ askedAt, answeredAt: request.answeredAt })
      askedAt = null
    }
    return askedAt === null ? found : [...found, { askedAt, answeredAt: Number.POSITIVE_INFINITY }]
  }
  const resumes = moments('resume')
  const [end = null] = moments('cancel_task', 'delete_task')
  const pauses = moments('pause').map((from) => ({
    from,
    to: resumes.find(({ askedAt }) => askedAt >= from.answeredAt) ?? null,
  }))
  return { end, pauses }
}

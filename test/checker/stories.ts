/** Evidence made by hand: a story in which everything is as it should be, and ways to spoil it. */
import type {
  AttemptRow,
  Change,
  ClientRequest,
  Delivery,
  Evidence,
  Fault,
  HistoryRow,
  LiveRow,
  Receipt,
  Tables,
  TaskBody,
} from './evidence.ts'

/** When the stories begin. */
export const T = Date.UTC(2027, 0, 4, 12)
export const WORKER = 'worker-1'
export const HEIR = 'worker-2'
const READ_AT = T + 600_000

const webhook = (taskId: string) => ({ type: 'webhook', url: `http://sink/${taskId}` })

/** A task that was asked for and accepted half a second before the story begins. */
export function asked(taskId: string, body: Partial<TaskBody> = {}): ClientRequest {
  return {
    ...{ verb: 'create', askedAt: T - 510, answeredAt: T - 490, status: 201, idempotencyKey: taskId },
    ...{ taskId, runId: null, createdAt: T - 500, body: { action: webhook(taskId), ...body } },
  }
}

/** A request about a task, answered within ten milliseconds. */
export function request(
  verb: ClientRequest['verb'],
  taskId: string,
  at: number,
  more: Partial<ClientRequest> = {},
): ClientRequest {
  return {
    ...{ verb, askedAt: at, answeredAt: at + 10, status: 200, idempotencyKey: null, taskId, runId: null },
    ...{ createdAt: null, body: null },
    ...more,
  }
}

export const once = (ms: number): Partial<TaskBody> => ({
  schedule: { type: 'once', at: new Date(T + ms).toISOString() },
})

/** A delivery that is answered well after 30 ms, of the run `<task>@<due>`. */
export function delivered(taskId: string, due: number, more: Partial<Delivery> = {}): Delivery {
  const receivedAt = more.receivedAt ?? T + due + 4
  return {
    ...{
      path: `/${taskId}`,
      receivedAt,
      answeredAt: receivedAt + 30,
      goneAt: null,
      status: 200,
      retryAfterMs: null,
    },
    ...{ messageId: `${taskId}@${due}`, taskId, scheduledFor: T + due, fence: 1, attempt: 1 },
    ...more,
  }
}

export function ended(taskId: string, due: number, more: Partial<HistoryRow> = {}): HistoryRow {
  return {
    ...{
      runId: `${taskId}@${due}`,
      taskId,
      kind: 'occurrence',
      state: 'completed',
      outcome: 'completed',
      reason: null,
    },
    ...{ scheduledFor: T + due, coversUntil: null, startedAt: T + due + 2, endedAt: T + due + 36, fence: 1 },
    ...{ attempt: 1, losses: 0, workerId: WORKER },
    ...more,
  }
}

export const skipped = (taskId: string, due: number, reason: string, more: Partial<HistoryRow> = {}) =>
  ended(taskId, due, {
    ...{
      runId: `${taskId}@${due}!`,
      state: 'skipped',
      outcome: null,
      reason,
      startedAt: null,
      fence: 0,
      attempt: 0,
    },
    ...{ endedAt: T + due + 1, workerId: null },
    ...more,
  })

export function live(taskId: string, due: number, more: Partial<LiveRow> = {}): LiveRow {
  return {
    ...{ runId: `${taskId}@${due}`, taskId, kind: 'occurrence', state: 'scheduled', scheduledFor: T + due },
    ...{ wakeAt: T + due, fence: 0, attempt: 0, places: 0 },
    ...more,
  }
}

export function attempt(taskId: string, due: number, more: Partial<AttemptRow> = {}): AttemptRow {
  return {
    ...{
      runId: `${taskId}@${due}`,
      number: 1,
      fence: 1,
      outcome: 'failed',
      startedAt: T + due + 2,
      endedAt: T + due + 36,
    },
    workerId: WORKER,
    ...more,
  }
}

/** A live row's life, as moves between states: `['scheduled', 'running', null]`. */
export function lived(
  taskId: string,
  due: number,
  states: readonly (string | null)[],
  more: Partial<Change> = {},
): Change[] {
  return states.map((to, i) => {
    const from = states[i - 1] ?? null
    return {
      ...{
        at: T + due + i * 10,
        runId: `${taskId}@${due}`,
        taskId,
        scheduledFor: T + due,
        shard: 7,
        from,
        to,
      },
      ...{
        fenceBefore: from && i - 1,
        fence: to && i,
        workerBefore: holder(from),
        workerId: holder(to),
        backend: 100,
      },
      ...more,
    } as Change
  })
}

/** A life in which a run waits for its turn: when it began to wait, when it started and when it was gone, after the beginning. */
export function turned(
  taskId: string,
  due: number,
  { held, began, gone, stopped }: { held?: number; began?: number; gone?: number; stopped?: number },
): Change[] {
  const moves: [string | null, number | undefined][] = [
    ['scheduled', due - 100],
    ['held', held],
    ['running', began],
    ['running', stopped],
    [null, gone],
  ]
  const made = moves.flatMap(([to, at]) => (at === undefined ? [] : [{ to, at }]))
  return made.map(({ to, at }, i) => {
    const from = made[i - 1]?.to ?? null
    return {
      ...{ at: T + at, runId: `${taskId}@${due}`, taskId, scheduledFor: T + due, shard: 7, from, to },
      fenceBefore: from === null ? null : Math.min(i - 1, 1),
      fence: to === null ? null : Math.min(i, 1),
      ...{ workerBefore: holder(from), workerId: holder(to), backend: 100 },
      isStopped: stopped !== undefined && at >= stopped,
    }
  })
}

/** A report by a remote worker that a run ended, and whether the worker was told that it counts. */
export const told = (taskId: string, due: number, fence: number, isRecorded: boolean): Receipt => ({
  ...{
    at: T + due + 40,
    runId: `${taskId}@${due}`,
    fence,
    workerId: fence === 1 ? WORKER : HEIR,
    isRecorded,
  },
})

const holder = (state: string | null) => (state === 'running' ? WORKER : null)

export const fault = (
  kind: Fault['kind'],
  from: number,
  until: number,
  processes: number[] = [1],
): Fault => ({
  ...{ kind, from: T + from, until: T + until, recoveryMs: 2_000, processes },
})

interface Story extends Partial<Omit<Evidence, 'tables'>> {
  readonly tables?: Partial<Tables>
}

/** Evidence of a story; what it does not mention did not happen. */
export function story({ tables = {}, requests = [], ...rest }: Story): Evidence {
  return {
    ...{ requests, deliveries: [], faults: [] },
    ...rest,
    tables: {
      ...{ readAt: READ_AT, live: [], history: [], attempts: [], gates: [], changes: null, owners: [] },
      tasks: requests.flatMap(({ verb, taskId, body }) =>
        verb === 'create' && taskId ? [{ id: taskId, key: body?.key ?? null }] : [],
      ),
      nodes: [WORKER, HEIR].map((id, i) => ({ id, process: i + 1, isScheduler: true, deadAt: null })),
      ...tables,
    },
  }
}

/** A run that went well. */
export const one = {
  requests: [asked('a', once(0))],
  deliveries: [delivered('a', 0)],
  tables: { history: [ended('a', 0)] },
}

/** A run that failed once, was lost once, and then completed elsewhere. */
export const eventful = {
  requests: [asked('a', { ...once(0), retry: { initial: '1s', max: '1s' } })],
  deliveries: [
    delivered('a', 0, { status: 503 }),
    delivered('a', 0, {
      receivedAt: T + 900,
      answeredAt: null,
      goneAt: T + 3_000,
      status: null,
      fence: 3,
      attempt: 2,
    }),
    delivered('a', 0, { receivedAt: T + 2_500, fence: 5, attempt: 3 }),
  ],
  faults: [fault('kill', 1_000, 1_000)],
  tables: {
    attempts: [
      attempt('a', 0),
      attempt('a', 0, { number: 2, fence: 3, outcome: 'worker_lost', endedAt: T + 2_000 }),
    ],
    history: [ended('a', 0, { fence: 5, attempt: 3, losses: 1, endedAt: T + 2_536, workerId: HEIR })],
  },
}

/** Four occurrences, a tenth of a second apart, which may overlap. */
export const every = (more = {}) => ({
  schedule: { type: 'every', interval: '100ms' },
  startAt: new Date(T).toISOString(),
  endAt: new Date(T + 300).toISOString(),
  overlap: 'allow',
  ...more,
})

/** Accepted tasks exist, exactly once; refused tasks do not exist; and no task exists that nobody requested. */
import type { Book } from '../book.ts'
import { Grouped } from '../book.ts'
import type { ClientRequest } from '../evidence.ts'
import type { Finding } from '../finding.ts'

export function checkAcceptance(book: Book): Finding[] {
  const stored = new Set(book.tables.tasks.map(({ id }) => id))
  const lost = [...book.wishes.keys()]
    .filter((taskId) => !stored.has(taskId))
    .map(
      (taskId): Finding => ({
        kind: 'lost',
        what: 'the task was accepted and is not there',
        taskId,
        runId: null,
      }),
    )
  return [...lost, ...checkKeys(book), ...checkStrangers(book)]
}

/** One idempotency key, one task, however often it was sent. */
function checkKeys({ requests }: Book): Finding[] {
  const creates = requests.filter(({ verb, idempotencyKey }) => verb === 'create' && idempotencyKey !== null)
  const byKey = new Grouped(
    creates,
    ({ idempotencyKey }) => String(idempotencyKey),
    ({ askedAt }) => askedAt,
  )
  return [...byKey.keys()].flatMap((key): Finding[] => {
    const ids = new Set(byKey.of(key).flatMap(({ taskId }) => taskId ?? []))
    if (ids.size <= 1) return []
    const what = `one idempotency key made ${ids.size} tasks: ${[...ids].join(', ')}`
    return [{ kind: 'doubled', what, taskId: [...ids][0] ?? null, runId: null }]
  })
}

/** A request without an answer may have made its task, once; every other task has an answer that names it. */
function checkStrangers({ requests, tables }: Book): Finding[] {
  const creates = requests.filter(({ verb }) => verb === 'create')
  const answered = new Set(creates.flatMap(({ taskId }) => taskId ?? []))
  const isUncertain = ({ status }: ClientRequest) => status === null || status >= 500
  const mayExist = new Set(creates.filter(isUncertain).map(({ idempotencyKey }) => idempotencyKey))
  const room = [...mayExist].filter(
    (key) => !creates.some((c) => c.idempotencyKey === key && c.taskId),
  ).length
  const strangers = tables.tasks.filter(({ id }) => !answered.has(id))
  return strangers.slice(room).map(({ id }) => ({
    kind: 'unexpected' as const,
    what: 'the task is there and nobody was told of it',
    taskId: id,
    runId: null,
  }))
}

/**
 * Random changes to tasks that fire every few milliseconds. Whatever meets whatever, each occurrence leaves
 * one row, none is missing, and a task goes on by one row or not at all. A failure prints its seed.
 */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'

/** At least so long, and so many changes. */
const DURATION_MS = 3_000
const CHANGES = 150
const SEED = Date.now() % 1_000_000

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Subject {
  readonly id: string
  readonly schedule: 'every' | 'delay'
  /** Keeps its schedule, so that its occurrences can be counted. */
  readonly isSteady: boolean
  readonly intervalMs: number
  readonly createdAt: number
}

async function subject(
  options: Pick<Subject, 'schedule' | 'isSteady' | 'intervalMs'> & { overlap: string },
): Promise<Subject> {
  const { schedule, intervalMs, overlap } = options
  const { body } = await request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '5ms' },
    schedule: { type: schedule, interval: `${intervalMs}ms` },
    overlap,
    retry: { limit: 0 },
  })
  return { ...options, id: body.id, createdAt: Date.parse(body.createdAt) }
}

interface Row {
  readonly taskId: string
  readonly kind: string
  readonly state: string
  readonly scheduledFor: number
  readonly until: number
  readonly count: number
  readonly isChained: boolean
}

/** Everything about all tasks at one moment. */
const snapshot = () =>
  db.run(sql<Row>`
    select task_id as "taskId", kind, state::text as state, scheduled_for as "scheduledFor", scheduled_for as until, 1 as count,
           delay_ms is not null as "isChained"
    from agenda
    union all
    select task_id, kind, state::text, scheduled_for, coalesce(covers_until, scheduled_for), coalesce(covers_count, 1), false from run
    order by "scheduledFor"`)

test(`each occurrence leaves one row, whatever changes meanwhile (seed ${SEED})`, async () => {
  const random = randomFrom(SEED)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const subjects = [
    await subject({ schedule: 'every', intervalMs: 10, isSteady: true, overlap: 'skip' }),
    await subject({ schedule: 'every', intervalMs: 20, isSteady: true, overlap: 'allow' }),
    await subject({ schedule: 'every', intervalMs: 15, isSteady: true, overlap: 'skip' }),
    await subject({ schedule: 'every', intervalMs: 10, isSteady: false, overlap: 'skip' }),
    await subject({ schedule: 'every', intervalMs: 20, isSteady: false, overlap: 'allow' }),
    await subject({ schedule: 'delay', intervalMs: 10, isSteady: true, overlap: 'skip' }),
    await subject({ schedule: 'delay', intervalMs: 20, isSteady: false, overlap: 'skip' }),
  ]
  const post = (id: string, verb: string) => request('POST', `/v1/tasks/${id}/${verb}`)
  const changes: ((task: Subject) => Promise<{ status: number }>)[] = [
    ({ id }) => post(id, 'pause'),
    ({ id }) => post(id, 'resume'),
    ({ id }) => post(id, 'resume'),
    ({ id }) => post(id, 'trigger'),
    ({ id }) => request('PATCH', `/v1/tasks/${id}`, { name: `name ${random()}` }),
    ({ id, isSteady, schedule }) =>
      request('PATCH', `/v1/tasks/${id}`, {
        ...(isSteady
          ? { maxRuns: 1_000_000 }
          : { schedule: { type: schedule, interval: `${pick([10, 12, 20])}ms` } }),
      }),
    async ({ id }) => {
      const { version } = (await request('GET', `/v1/tasks/${id}`)).body
      const earlier = 1 + Math.floor(random() * (version - 1))
      return version === 1
        ? { status: 200 }
        : request('POST', `/v1/tasks/${id}/rollback`, { version: earlier })
    },
    async ({ id }) => {
      const { openRun } = (await request('GET', `/v1/tasks/${id}`)).body
      return openRun ? request('POST', `/v1/runs/${openRun.id}/cancel`) : { status: 200 }
    },
  ]

  const statuses = new Map<number, number>()
  const deadline = performance.now() + DURATION_MS
  let changed = 0
  const change = async () => {
    while (performance.now() < deadline || changed < CHANGES) {
      const { status } = await pick(changes)(pick(subjects))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      changed++
    }
  }
  await Promise.all([change(), change(), change(), change()])
  const [paused, cancelled] = [[subjects[2], subjects[6]], [subjects[4]]] as [Subject[], Subject[]]
  const active = subjects.filter((task) => !paused.includes(task) && !cancelled.includes(task))
  for (const { id } of paused) await post(id, 'pause')
  for (const { id } of cancelled) await post(id, 'cancel')
  for (const { id } of active) await post(id, 'resume')
  await eventually(async () => {
    const rows = await snapshot()
    return [...paused, ...cancelled].every(({ id }) => rows.every((row) => row.taskId !== id || isEnded(row)))
  })
  const rows = await snapshot()

  expect([...statuses.keys()].filter((status) => ![200, 201, 409].includes(status))).toEqual([])
  for (const task of subjects) {
    const own = rows.filter((row) => row.taskId === task.id)
    const occurrences = own.filter(({ kind }) => kind === 'occurrence')
    expect([task, overlapping(occurrences)]).toEqual([task, []])
    const goesOnBy = own.filter(
      (row) => (row.state === 'scheduled' && row.kind === 'occurrence') || (!isEnded(row) && row.isChained),
    )
    expect([task, goesOnBy.length]).toEqual([task, active.includes(task) ? 1 : 0])
    if (task.isSteady && task.schedule === 'every') expectComplete(task, occurrences)
  }
  for (const { id } of active) await post(id, 'cancel')
})

const ENDED = ['completed', 'permanently_failed', 'cancelled', 'skipped']
const isEnded = ({ state }: Row) => ENDED.includes(state)

/** Rows that speak for an occurrence that an earlier row speaks for too. */
function overlapping(occurrences: readonly Row[]): Row[][] {
  const pairs = occurrences.slice(1).map((row, i) => [occurrences[i] as Row, row])
  return pairs.filter(([before, after]) => (after?.scheduledFor ?? 0) <= (before?.until ?? 0))
}

/** Every instant of the grid up to the latest row has been run, skipped or lies ahead. */
function expectComplete({ intervalMs, createdAt }: Subject, occurrences: readonly Row[]): void {
  const first = createdAt + intervalMs
  const last = Math.max(...occurrences.map(({ until }) => until))
  const counted = occurrences.reduce((sum, { count }) => sum + count, 0)
  expect(occurrences[0]?.scheduledFor).toBe(first)
  expect(counted).toBe((last - first) / intervalMs + 1)
}

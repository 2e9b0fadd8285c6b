/** Reading and firing go on side by side, and nothing that one writes is lost on the other. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { type DefinedRun, Definitions } from '../../src/transport/definitions.ts'
import { endedRow, liveRow, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

test('a retry written while another row is being fired is read and not mistaken for the fired row', async () => {
  const { db } = await createTestDatabase()
  const clock = { now: () => Date.now() }
  let attempts = 0
  const scheduler = await anEngine(db, {
    clock,
    execute: async () =>
      ++attempts === 1
        ? { kind: 'failed', retryable: true, error: { code: 'network', message: 'reset' } }
        : { kind: 'completed', output: null },
  })
  const retry = { limit: 3, initial: '10ms', max: '10ms' }
  const [quick] = await tasksInAgenda(db, { definition: { retry, overlap: 'allow' } })
  const [slow] = await tasksInAgenda(db, { definition: { overlap: 'queue_all' } })
  const runId = quick?.runId as string
  const stateIs = (state: string) => async () => (await liveRow(db, runId))?.state === state
  await scheduler.readAhead()

  let firing: Promise<number> | undefined
  await db.transaction(async (tx) => {
    await tx.run(sql`select from agenda where run_id = ${slow?.runId as string} for update`)
    firing = scheduler.fireDue()
    await eventually(stateIs('retrying'))
    await scheduler.readAhead()
  })
  await firing
  await eventually(async () => {
    await scheduler.fireDue()
    return endedRow(db, runId)
  })

  expect(attempts).toBe(3)
  expect(await endedRow(db, slow?.runId as string)).toMatchObject({ state: 'completed' })
})

/** Definitions that are not answered, once a run of one task is among those asked about, until somebody lets go. */
class HeldDefinitions extends Definitions {
  heldTask: string | undefined
  #letGo = () => {}
  readonly #released = new Promise<void>((resolve) => {
    this.#letGo = resolve
  })
  isHolding = false

  override async of(runs: readonly DefinedRun[]) {
    if (runs.some(({ taskId }) => taskId === this.heldTask)) {
      this.isHolding = true
      await this.#released
    }
    return super.of(runs)
  }

  letGo(): void {
    this.#letGo()
  }
}

test('a next occurrence that is written during a read ahead is fired on time', async () => {
  const { db } = await createTestDatabase()
  let now = Date.now()
  const definitions = new HeldDefinitions(db)
  const scheduler = await anEngine(db, {
    clock: { now: () => now },
    execute: async () => ({ kind: 'completed', output: null }),
    definitions,
  })
  // Overdue and ahead are read one after the other, and this one must be known before the other part is read.
  const dueAt = now - 1
  const [every] = await tasksInAgenda(db, {
    dueAt,
    definition: { schedule: { type: 'every', interval: '3s' }, anchorAt: new Date(dueAt).toISOString() },
  })
  const [later] = await tasksInAgenda(db, { dueAt: now + 5_000 })
  definitions.heldTask = later?.taskId
  const ended = () => db.run(sql`select from run where task_id = ${every?.taskId as string}`)

  const reading = scheduler.readAhead()
  await eventually(async () => definitions.isHolding)
  await scheduler.fireDue()
  definitions.letGo()
  await reading
  now += 3_000
  await scheduler.fireDue()

  await eventually(async () => (await ended()).length === 2)
})

test('an occurrence that another writer has already written is not written again and delays nothing', async () => {
  const { db } = await createTestDatabase()
  let now = Date.now()
  const scheduler = await anEngine(db, {
    clock: { now: () => now },
    execute: async () => ({ kind: 'completed', output: null }),
  })
  const dueAt = now - 1
  const definition = {
    schedule: { type: 'every', interval: '3s' },
    anchorAt: new Date(dueAt).toISOString(),
  } as const
  const tasks = await tasksInAgenda(db, { count: 3, dueAt, definition })
  const [followed] = tasks
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), task_id, project_id, shard, wake_at + interval '3s', scheduled_for + interval '3s', version, ordinal + 1
    from agenda where run_id = ${followed?.runId as string}`)
  const ended = () => db.run(sql`select from run where state = 'completed'`)

  for (const done of [3, 6]) {
    await scheduler.readAhead()
    await scheduler.fireDue()
    await eventually(async () => (await ended()).length === done)
    now += 3_000
  }

  expect(await db.run(sql`select distinct task_id, scheduled_for from run`)).toHaveLength(6)
})

test('when more rows wait than one read takes, the next read takes the rest and rows that were woken', async () => {
  const { db } = await createTestDatabase()
  const asked: string[] = []
  class NotedDefinitions extends Definitions {
    override of(runs: readonly DefinedRun[]) {
      asked.push(...runs.map(({ runId }) => runId))
      return super.of(runs)
    }
  }
  const scheduler = await anEngine(db, {
    clock: { now: () => Date.now() },
    execute: async () => ({ kind: 'completed', output: null }),
    definitions: new NotedDefinitions(db),
  })
  // Fifty are read of each of the 64 shards at a time.
  await tasksInAgenda(db, { count: 5_000 })
  const [later] = await tasksInAgenda(db, { dueAt: Date.now() + 9_000 })
  const woken = later?.runId as string

  await scheduler.readAhead()
  const first = asked.length
  // As another node would, whose hint is lost.
  await db.run(
    sql`update agenda set wake_at = now() - interval '5s', fence = fence + 1 where run_id = ${woken}`,
  )
  await scheduler.readAhead()

  expect(first).toBeLessThanOrEqual(3_201)
  expect(asked.length).toBeGreaterThan(4_500)
  expect(asked.filter((runId) => runId === woken)).toHaveLength(2)
  expect(new Set(asked).size).toBe(asked.length - 1)
})

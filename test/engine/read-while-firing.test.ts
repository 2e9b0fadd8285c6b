/** Reading and firing go on side by side, and nothing that one writes is lost on the other. */
import { expect, test } from 'vitest'
import { type DefinedRun, Definitions } from '../../src/store/definitions.ts'
import { sql } from '../../src/store/sql.ts'
import { endedRow, liveRow, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

test('a retry that is written while another row is still being fired is read, and not taken for what was fired', async () => {
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

test('the next occurrence that is written while the time ahead is being read is fired on time', async () => {
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

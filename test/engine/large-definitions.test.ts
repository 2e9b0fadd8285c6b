/** A definition may be a thousand times as long as most are: what waits in memory is bounded all the same. */

import { expect, test } from 'vitest'
import { type Action, isLarge } from '../../src/core/action/action.ts'
import { callTargetOf } from '../../src/core/action/call-target.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import { laneOf } from '../../src/core/run/lane.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import type { Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertOverride } from '../../src/store/tasks/run-overrides.ts'
import { LARGE_BYTES } from '../../src/store/tasks/stored-definition.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { Definitions } from '../../src/transport/definitions.ts'
import { Attempt } from '../../src/worker/attempt.ts'
import { LargeActions, MAX_BYTES_IN_HAND } from '../../src/worker/large-actions.ts'
import { aDefinition, endedRow, tasksInAgenda } from '../support/agenda.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { logsInMemory } from '../support/logs.ts'

const { db } = await createTestDatabase()
const clock = steadyClock()

const TARGET = 'http://127.0.0.1:9'
const webhook = (characters: number): Action => ({
  type: 'webhook',
  url: `${TARGET}/hook`,
  body: 'x'.repeat(characters),
})
const handler: Action = { type: 'handler', name: 'resize', payload: { image: 'é'.repeat(100_000) } }
const defined = (runId: string, taskId: string) => ({ runId, taskId, version: 1 })

/** More tasks that say the same, made by the database. */
async function copiesOf(taskId: string, count: number): Promise<string[]> {
  const rows = await db.run(sql<{ id: string }>`
    insert into task (id, project_id, action_type, tags, definition, created_at, updated_at)
    select gen_random_uuid(), project_id, action_type, tags, definition, created_at, updated_at
    from task cross join generate_series(1, ${count}::integer) where id = ${taskId} returning id`)
  return rows.map(({ id }) => id)
}

test('a large definition is kept in memory without action and metadata, but with its length', async () => {
  const settings = {
    queue: 'images',
    timeout: '7s',
    labels: ['gpu'],
    retry: { limit: 1, initial: '1s', max: '1s' },
  }
  const definition = aDefinition({ ...settings, action: handler, metadata: { note: 'y'.repeat(5_000) } })
  const [small] = await tasksInAgenda(db)
  const [large] = await tasksInAgenda(db, { definition })
  const runs = [small, large].map((task) => defined(task?.runId as string, task?.taskId as string))

  const [kept, keptLarge] = await new Definitions(db).of(runs)

  expect(kept).toEqual(aDefinition())
  expect(keptLarge).toMatchObject({ ...settings, schedule: definition.schedule, metadata: {} })
  expect(keptLarge?.action).toEqual({ type: 'handler', name: 'resize', largeBytes: expect.any(Number) })
  const bytes = keptLarge && isLarge(keptLarge.action) ? keptLarge.action.largeBytes : 0
  expect(bytes).toBeGreaterThan(200_000)
  expect(bytes).toBeLessThan(210_000)
  expect(laneOf(DEFAULT_PROJECT_ID, keptLarge ?? definition)).toEqual(laneOf(DEFAULT_PROJECT_ID, definition))
  expect(await new Definitions(db).whole(runs)).toEqual([aDefinition(), definition])
})

test('a definition that a node of an earlier release changed is read in its current version', async () => {
  const [task] = await tasksInAgenda(db, { definition: { action: webhook(10_000), timeout: '7s' } })
  const taskId = task?.taskId as string
  const changed = { ...aDefinition({ action: webhook(20_000), timeout: '9s' }) }
  await db.run(sql`
    with kept as (insert into task_version (task_id, version, definition, tags) select id, version, definition, tags from task where id = ${taskId})
    update task set version = version + 1, definition = ${JSON.stringify(changed)}::json where id = ${taskId}`)
  const runs = [1, 2].map((version) => ({ runId: uuidv7(), taskId, version }))

  const kept = await new Definitions(db).of(runs)

  expect(kept.map((one) => one?.timeout)).toEqual(['7s', '9s'])
  expect(kept.every((one) => one && isLarge(one.action))).toBe(true)
  expect(kept.map((one) => one && callTargetOf(one.action, () => null))).toEqual([TARGET, TARGET])
})

test('half a gigabyte of definitions is read without one result that contains them all', async () => {
  const dueAt = Date.now() + 86_400_000
  const [first] = await tasksInAgenda(db, { dueAt, definition: { action: webhook(250_000) } })
  const copies = await copiesOf(first?.taskId as string, 400)
  const answers: number[] = []
  const measuring: Queryable = {
    run: async (statement) => {
      const rows = await db.run(statement)
      answers.push(JSON.stringify(rows).length)
      return rows
    },
  }

  const kept = await new Definitions(measuring).of(copies.map((taskId) => defined(uuidv7(), taskId)))

  expect(kept).toHaveLength(400)
  expect(kept.every((one) => one && isLarge(one.action))).toBe(true)
  expect(Math.max(...answers)).toBeLessThan(400 * 500)
})

test('a large override of a run is kept without its action and performed in full', async () => {
  const [task] = await tasksInAgenda(db, { definition: { action: webhook(10) } })
  const run = { ...defined(task?.runId as string, task?.taskId as string), kind: 'manual' as const }
  const override = { action: { body: 'z'.repeat(20_000) }, timeout: '9s' }
  await db.run(insertOverride({ runId: run.runId, override }))
  const definitions = new Definitions(db)

  const [kept] = await definitions.of([run])
  const [whole] = await definitions.whole([run])

  expect(kept?.action).toMatchObject({ target: TARGET })
  expect(kept).toMatchObject({ timeout: '9s', action: { type: 'webhook', largeBytes: expect.any(Number) } })
  expect(JSON.stringify(kept).length).toBeLessThan(LARGE_BYTES)
  expect(whole).toMatchObject({ timeout: '9s', action: { body: override.action.body } })
})

test('a run with a large action is performed with the complete action', async () => {
  const performed: Action[] = []
  const scheduler = await anEngine(db, {
    clock,
    execute: async (action) => {
      performed.push(action)
      return { kind: 'completed', output: null }
    },
  })
  const action = webhook(100_000)
  const [task] = await tasksInAgenda(db, { definition: { action } })

  await scheduler.readAhead()
  await scheduler.fireDue()
  await eventually(() => endedRow(db, task?.runId as string))

  expect(performed).toContainEqual(action)
})

test('a run whose action cannot be read is handed back and runs once it can be read', async () => {
  const { db } = await createTestDatabase()
  let isBroken = true
  const breakable: Queryable = {
    run: (statement) =>
      isBroken && statement.text.startsWith('select d.definition')
        ? Promise.reject(new Error('the database is not there'))
        : db.run(statement),
  }
  const definitions = new Definitions(breakable)
  const scheduler = await anEngine(db, {
    clock,
    definitions,
    execute: async () => ({ kind: 'completed', output: null }),
  })
  const [task] = await tasksInAgenda(db, { definition: { action: webhook(100_000) } })
  const runId = task?.runId as string

  await scheduler.readAhead()
  await scheduler.fireDue()
  await eventually(async () => {
    const [row] = await db.run(
      sql<{ fence: number }>`select fence from agenda where run_id = ${runId} and fence > 1`,
    )
    return row
  })
  isBroken = false
  await eventually(() => endedRow(db, runId))

  const [run] = await db.run(
    sql<{ attempt: number; losses: number }>`select attempt, losses from run where run_id = ${runId}`,
  )
  expect(run).toEqual({ attempt: 1, losses: 0 })
})

test('actions in memory are limited in total bytes, and further runs wait until one has ended', async () => {
  const characters = 4 * 1024 * 1024
  const count = Math.floor(MAX_BYTES_IN_HAND / characters) + 2
  const [first] = await tasksInAgenda(db, { definition: { action: webhook(characters) } })
  const definitions = new Definitions(db)
  const runs = (await copiesOf(first?.taskId as string, count)).map((taskId) => defined(uuidv7(), taskId))
  const kept = await definitions.of(runs)
  const attempts = runs.map((run, i) => {
    const work = { ...run, scheduledFor: 0, wakeAt: 0, fence: 1, attempt: 1, losses: 0 }
    return new Attempt({ ...work, definition: kept[i] ?? aDefinition() }, clock, logsInMemory())
  })
  const large = new LargeActions({ definitions, log: silentLogger() })
  const read: Attempt[] = []
  for (const attempt of attempts) void large.read(attempt).then((action) => action && read.push(attempt))
  const fitting = count - 3

  await eventually(async () => read.length === fitting)
  attempts.at(-1)?.abandon()
  large.release((read[0] as Attempt).work)
  await eventually(async () => read.length === fitting + 1)
  for (const { work } of attempts) large.release(work)

  expect(read).toEqual(attempts.slice(0, fitting + 1))
})

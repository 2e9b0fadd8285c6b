/** Two nodes that know of each other only what the database tells them. */
import pino from 'pino'
import { expect, test } from 'vitest'
import { aNode } from '../../test/support/agenda.ts'
import { steadyClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../core/values/default-project.ts'
import { aBook, call } from '../outgoing/targets/test-support.ts'
import type { Queryable } from '../store/database/database.ts'
import { type Statement, sql } from '../store/database/sql.ts'
import { openCircuitsOf } from '../store/targets/target-circuits.ts'
import {
  dropEmptyTargetSetting,
  makeTargetSetting,
  setTargetPaused,
} from '../store/targets/target-settings.ts'
import { findTarget } from '../store/targets/targets.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { TargetExchange } from './target-exchange.ts'

const { db } = await createTestDatabase()
const wakeUps = new LocalWakeUps()

/** A node with a book whose clock only the test moves. */
async function aMember() {
  const nodeId = await aNode(db)
  const logged: string[] = []
  const statements: string[] = []
  const counted: Queryable = {
    run: <Row>(statement: Statement<Row>) => {
      statements.push(statement.text.trim().split(/\s+/).slice(0, 3).join(' '))
      return db.run(statement)
    },
  }
  const { book, pass, now } = aBook()
  const startedAt = { book: now(), wall: Date.now() }
  const exchange = new TargetExchange({
    nodeId,
    db: counted,
    book,
    wakeUps,
    clock: steadyClock(() => startedAt.wall + now() - startedAt.book),
    log: pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
    bookNow: now,
  })
  return { nodeId, book, pass, exchange, logged, statements }
}

const fail = (book: Awaited<ReturnType<typeof aMember>>['book'], target: string, times = 5) => {
  for (let i = 0; i < times; i++)
    call(book.line(projectId, target), 'unreachable', {
      taskId: `task-${i % 2}`,
      error: { code: 'connect_refused', message: 'refused' },
    })
}

const pause = async (pattern: string, isPaused: boolean) => {
  await db.run(makeTargetSetting({ projectId, pattern }))
  await db.run(setTargetPaused({ projectId, pattern, isPaused, reason: null }))
  await db.run(dropEmptyTargetSetting({ projectId, pattern }))
  wakeUps.announceTargets()
}

test('a new setting takes effect after a wake-up, or after two seconds without one', async () => {
  const { book, exchange, pass } = await aMember()
  const line = book.line(projectId, 'https://set.example')
  await exchange.runOnce()

  await pause('*.example', true)
  await exchange.runOnce()
  expect(line).toMatchObject({ free: 0, condition: 'paused' })

  await pause('*.example', false)
  await exchange.runOnce()
  expect(line.condition).toBe('open')

  await db.run(
    sql`insert into target_setting (project_id, pattern, call_limit) values (${projectId}, 'set.example', 3)`,
  )
  await exchange.runOnce()
  expect(line.free).toBe(128)
  pass(2_000)
  await exchange.runOnce()
  expect(line.free).toBe(3)
})

test('a circuit that opens in one node is open in the others until it closes there', async () => {
  const [a, b] = [await aMember(), await aMember()]
  const target = 'https://broken.example'
  const line = b.book.line(projectId, target)
  await b.exchange.runOnce()

  fail(a.book, target)
  await a.exchange.runOnce()
  await b.exchange.runOnce()

  expect(line).toMatchObject({ condition: 'circuit', free: 0 })
  expect(await db.run(findTarget({ projectId, target }))).toMatchObject([
    { openedAt: expect.any(Number), error: { code: 'connect_refused', message: 'refused' } },
  ])

  a.pass(6_000)
  call(a.book.line(projectId, target), 'answered')
  await a.exchange.runOnce()
  await b.exchange.runOnce()

  expect(line.condition).toBe('open')
  expect(a.logged.map((text) => JSON.parse(text).event)).toEqual([
    'target.circuit_opened',
    'target.circuit_closed',
  ])
  expect(b.logged).toEqual([])
})

test('other nodes wait for the probe of the node that opened the circuit', async () => {
  const [a, b] = [await aMember(), await aMember()]
  const target = 'https://probed.example'
  fail(a.book, target)
  await a.exchange.runOnce()
  const line = b.book.line(projectId, target)
  await b.exchange.runOnce()

  b.pass(6_000)
  await db.run(sql`update target_circuit set until = clock_timestamp() where node_id = ${a.nodeId}`)
  await b.exchange.runOnce()
  expect(line.condition).toBe('circuit')

  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${a.nodeId}`)
  b.pass(1_000)
  await b.exchange.runOnce()
  expect(line.condition).toBe('open')
})

test('other nodes wait while a probe is under way, and probe themselves if its node does not probe again', async () => {
  const [a, b] = [await aMember(), await aMember()]
  const target = 'https://unprobed.example'
  fail(a.book, target)
  await a.exchange.runOnce()
  const line = b.book.line(projectId, target)
  const both = async (ms: number) => {
    for (const { pass, exchange } of [a, b]) {
      pass(ms)
      await exchange.runOnce()
    }
    return line.free
  }

  expect(await both(6_000)).toBe(0)
  a.book.line(projectId, target).begin()
  expect(await both(1_500)).toBe(0)
  expect(await both(10_000)).toBe(0)
  a.book.line(projectId, target).end({ taskId: 'task-0', kind: 'unreachable', durationMs: 11_500 })
  expect(await both(1_000)).toBe(0)
  expect(await both(10_900)).toBe(0)
  expect(await both(200)).toBe(1)

  call(line, 'answered')
  expect(await both(2_000)).toBe(4)
  call(a.book.line(projectId, target), 'answered')
  await both(0)
  expect(await db.run(openCircuitsOf({ projectId, limit: 10 }))).toEqual([])
})

test('a node without calls writes no report, and one with calls writes only changes', async () => {
  const { exchange, pass, book, statements, nodeId } = await aMember()
  const step = async () => {
    statements.length = 0
    pass(2_000)
    await exchange.runOnce()
    return statements.filter((text) => !text.startsWith('with')).length
  }
  expect([await step(), await step()]).toEqual([0, 0])

  book.line(projectId, 'https://called.example').begin()
  expect([await step(), await step()]).toEqual([1, 0])
  const written = await db.run(
    sql<{
      state: object
      isIdle: boolean
    }>`select state, is_idle as "isIdle" from target_report where node_id = ${nodeId}`,
  )
  expect(written).toMatchObject([{ isIdle: false, state: { underWay: 1, state: 'available' } }])

  // What is not idle is renewed before it stops counting.
  expect([await step(), await step(), await step(), await step(), await step()]).toContain(1)
  await exchange.stop()
  expect(await db.run(sql`select from target_report where node_id = ${nodeId}`)).toEqual([])
})

test('both lines to a target are reported as one target', async () => {
  const { exchange, book, nodeId } = await aMember()
  book.line(projectId, 'https://two.example').begin()
  book.line(projectId, 'https://two.example', { noCircuit: true }).begin()

  await exchange.runOnce()

  const rows = await db.run(sql<{ state: object }>`select state from target_report where node_id = ${nodeId}`)
  expect(rows).toMatchObject([{ state: { underWay: 2 } }])
})

test('a report that the database lost is written again', async () => {
  const { exchange, pass, book, nodeId } = await aMember()
  book.line(projectId, 'https://lost.example').begin()
  await exchange.runOnce()
  await db.run(sql`delete from target_report where node_id = ${nodeId}`)

  for (let i = 0; i < 6; i++) {
    pass(2_000)
    await exchange.runOnce()
  }

  const rows = await db.run(
    sql<{ target: string }>`select target from target_report where node_id = ${nodeId}`,
  )
  expect(rows).toEqual([{ target: 'https://lost.example' }])
})

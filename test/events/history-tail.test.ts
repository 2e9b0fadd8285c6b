/**
 * Following history while transactions commit in another order than the instants they wrote, and while others
 * are left open. Everything is told once, and nothing is passed over.
 */
import pg from 'pg'
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { type EventPosition, formatPosition, parsePosition } from '../../src/core/run/frontier.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { readPage } from '../../src/events/history-page.ts'
import { HistoryTail } from '../../src/events/history-tail.ts'
import { endPlainRuns, endRuns } from '../../src/store/agenda/outcomes.ts'
import { sql } from '../../src/store/database/sql.ts'
import { NO_ID } from '../../src/store/history/run-search.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { aNode, tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const { url, db } = await createTestDatabase()
const [task] = await tasksInAgenda(db, { dueAt: Date.now() + 3_600_000 })
const taskId = task?.taskId ?? ''

/** A connection of its own, whose transactions last as long as the test wants. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  whenDone(() => client.end())
  return client
}

/** Stores an ended run in whatever transaction the client is in; it ended so many seconds ago. */
async function end(client: pg.Client, { agoMs = 0 }: { agoMs?: number } = {}): Promise<string> {
  const id = uuidv7()
  await client.query(
    `insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state, outcome)
     values ($1, $2, $3, now(), clock_timestamp() - $4::integer * interval '1 millisecond', 1, 1, 'occurrence', 'completed', 'completed')`,
    [id, taskId, DEFAULT_PROJECT_ID, agoMs],
  )
  return id
}

async function theEnd(): Promise<EventPosition> {
  const tail = new HistoryTail({ db, log: silentLogger() })
  const stop = await tail.follow()
  const position = tail.end
  stop()
  return position
}

/** Reads from a position until nothing is left, sending each position through its text on the way. */
async function readAll(start: EventPosition): Promise<{ ids: string[]; position: EventPosition }> {
  const ids: string[] = []
  let position = start
  do {
    const page = await readPage(db, parsePosition(formatPosition(position)) as EventPosition)
    ids.push(...page.rows.map(({ id }) => id))
    position = page.next
  } while (position.to !== null)
  return { ids, position }
}

test('an end that commits after later ones is reported when it commits', async () => {
  const [early, late] = [await connect(), await connect()]
  const start = await theEnd()
  await early.query('begin')
  const first = await end(early)
  const second = await end(late)

  const before = await readAll(start)
  await early.query('commit')
  const after = await readAll(before.position)
  const nothing = await readAll(after.position)

  expect(before.ids).toEqual([second])
  expect(after.ids).toEqual([first])
  expect(nothing.ids).toEqual([])
})

test('an end that was rolled back is never reported', async () => {
  const client = await connect()
  const start = await theEnd()
  await client.query('begin')
  await end(client)
  const before = await readAll(start)
  await client.query('rollback')

  const after = await readAll(before.position)

  expect([...before.ids, ...after.ids]).toEqual([])
})

test('an open transaction of another client delays nothing', async () => {
  const [stranger, client] = [await connect(), await connect()]
  await stranger.query('begin')
  await stranger.query('select pg_current_xact_id()')
  let { position } = await readAll(await theEnd())

  for (let i = 0; i < 5; i++) {
    const id = await end(client)
    const read = await readAll(position)
    expect(read.ids).toEqual([id])
    position = read.position
  }
  await stranger.query('rollback')
})

test('a row that was written long before its commit is found by its transaction id', async () => {
  const [slow, quick] = [await connect(), await connect()]
  await slow.query('begin')
  await slow.query('select pg_current_xact_id()')
  const start = await theEnd()
  const old = await end(slow, { agoMs: 60_000 })
  const read = await readAll(start)
  // As if it had been under way for long: nobody looks for what it may write with every look any more.
  // Transactions in other databases of the server may be among them.
  const { pending } = read.position.from
  expect(pending).not.toEqual([])
  const fromUs = (Date.now() - 90_000) * 1_000
  const isLong = { ...read.position.from, pending: pending.map(({ xid }) => ({ xid, fromUs })) }
  const recent = await end(quick)
  const during = await readAll({ from: isLong, to: null, at: null })
  await slow.query('commit')

  const after = await readAll(during.position)

  expect(during.ids).toEqual([recent])
  expect(after.ids).toEqual([old])
})

test('a run whose end is stored long after it happened is reported', async () => {
  const nodeId = await aNode(db)
  const tasks = await tasksInAgenda(db, { count: 2 })
  await db.run(sql`update agenda set state = 'running', fence = 1, worker_id = ${nodeId}, claimed_at = now()`)
  const { position } = await readAll(await theEnd())
  const longAgo = Date.now() - 10 * 60_000
  const endings = tasks.map(({ runId }) => ({
    runId,
    fence: 1,
    state: 'completed' as const,
    outcome: 'completed' as const,
    startedAt: longAgo - 5,
    endedAt: longAgo,
    output: null,
    error: null,
    nextRunId: null,
  }))

  const [plain] = await db.run(endPlainRuns(endings))
  await db.run(endRuns(endings))
  const read = await readAll(position)

  expect(plain?.left.length).toBe(2)
  expect(read.ids.toSorted()).toEqual(tasks.map(({ runId }) => runId).toSorted())
})

test('ends that many writers commit in any order are each reported once, in pages, to every reader', async () => {
  const writers = await Promise.all(Array.from({ length: 6 }, connect))
  const start = await theEnd()
  const stored: string[] = []
  let isDone = false
  const writing = Promise.all(
    writers.map(async (client, i) => {
      for (let n = 0; n < 40; n++) {
        await client.query('begin')
        const ids = [await end(client, { agoMs: (i * 13 + n * 7) % 200 }), await end(client)]
        // Another statement or two between the write and its commit, so that commits cross.
        for (let k = 0; k <= (i + n) % 3; k++)
          await client.query('select count(*) from generate_series(1, 5000)')
        const isKept = (i + n) % 9 !== 0
        await client.query(isKept ? 'commit' : 'rollback')
        if (isKept) stored.push(...ids)
      }
    }),
  ).then(() => {
    isDone = true
  })

  const told: string[] = []
  let position = start
  for (let isLast = false; !isLast; ) {
    isLast = isDone
    const read = await readAll(position)
    told.push(...read.ids)
    position = read.position
  }
  await writing

  expect(told.toSorted()).toEqual(stored.toSorted())
})

test('concurrent and later followers share one reader and receive the same ends', async () => {
  const client = await connect()
  const tail = new HistoryTail({ db, log: silentLogger() })
  const stopFirst = await tail.follow()
  const start = tail.end
  const ids = [await end(client), await end(client)]
  const first = await eventually(async () => {
    const page = await tail.page(start)
    return page && page.rows.length === 2 ? page : undefined
  })
  const stopSecond = await tail.follow()

  const middle = await tail.page(first.positionAt(first.rows[0] as (typeof first.rows)[number]))
  const later = await tail.page(parsePosition(formatPosition(start)) as EventPosition)

  expect(first.rows.map(({ id }) => id)).toEqual(ids)
  expect(middle?.rows.map(({ id }) => id)).toEqual([ids[1]])
  expect(later?.rows.map(({ id }) => id)).toEqual(ids)
  stopFirst()
  stopSecond()
})

test('a position from before history, or from another history, is answered with a gap and the available rows', async () => {
  const client = await connect()
  const id = await end(client)
  const from = (xmax: number, ms: number) => ({
    from: { xmax, fromUs: ms * 1_000, pending: [] },
    to: null,
    at: null,
  })

  const old = await readPage(db, from(1, Date.UTC(2020, 0)))
  const foreign = await readPage(db, from(2 ** 40, Date.now() - 1_000))

  expect(old.gap).toMatchObject({ reason: 'history_dropped' })
  expect(foreign.gap).toMatchObject({ reason: 'position_unknown' })
  expect(foreign.rows.map((row) => row.id)).toContain(id)
  expect((await readAll(from(1, Date.UTC(2020, 0)))).ids).toContain(id)
})

test('a position in a page from before history has no gap if the rows before it were all delivered', async () => {
  const client = await connect()
  await end(client)
  const {
    next: { from: to },
  } = await readPage(db, { from: { xmax: 1, fromUs: Date.now() * 1_000, pending: [] }, to: null, at: null })

  const page = await readPage(db, {
    from: { xmax: 1, fromUs: Date.UTC(2020, 0) * 1_000, pending: [] },
    to,
    at: { us: (Date.now() - 3_600_000) * 1_000, id: NO_ID },
  })

  expect(page.gap).toBeNull()
})

test.each(['', '1', '1.', '2.a_b', '1.a_b.c', '1.a_b..d', '1.zzzzzzzzzzzz_1', '1.a_b.a_b.1_x', '1.a_b_c~'])(
  'text that is not a position is rejected: %j',
  (text) => {
    expect(parsePosition(text)).toBeNull()
  },
)

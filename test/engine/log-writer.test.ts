/** Logs of attempts are stored in batches, within limits, and only while the attempt holds its run. */
import { expect, test } from 'vitest'
import { LOG_START } from '../../src/core/run/log-line.ts'
import { Redactor } from '../../src/core/secret/redactor.ts'
import { LogWriter } from '../../src/logs/log-writer.ts'
import type { LoggedAttempt } from '../../src/logs/run-log.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import { lookAhead } from '../../src/store/agenda/look-ahead.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { readLog } from '../../src/store/logs/read.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { aNode, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const { db } = await createTestDatabase()

/** Runs that have begun in one worker. */
async function runsInProgress(count: number): Promise<LoggedAttempt[]> {
  await tasksInAgenda(db, { count })
  const nodeId = await aNode(db)
  const shards = await ownShards(db, nodeId)
  const ids = shards.map(({ id }) => id)
  const rows = await db.run(lookAhead({ shards: ids, from: null, until: Date.now(), limitPerShard: count }))
  await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  return rows.slice(0, count).map(({ runId, fence }) => ({ runId, fence: fence + 1 }))
}

async function oneRun(): Promise<LoggedAttempt> {
  const [run] = await runsInProgress(1)
  if (!run) throw new Error('no run was fired')
  return run
}

function aWriter(maxLogBytes = 1_048_576, database: Database = db): LogWriter {
  const writer = new LogWriter({ db: database, clock: steadyClock(), log: silentLogger(), maxLogBytes })
  writer.start()
  whenDone(() => writer.stop())
  return writer
}

interface Row {
  readonly seq: number
  readonly attempt: number
  readonly stream: string
  readonly level: string | null
  readonly text: string
  readonly bytes: number
  readonly lines: number | null
  readonly omitted: number | null
}

const stored = ({ runId, fence }: LoggedAttempt) =>
  db.run(sql<Row>`
    select seq, attempt, stream, level, text, bytes, omitted_lines as lines, omitted_bytes as omitted from run_log
    where run_id = ${runId} and fence = ${fence} order by seq`)

const textOf = async (run: LoggedAttempt) => (await stored(run)).map(({ text }) => text).join('')

const line = (text: string) => ({ at: Date.now(), stream: 'log', level: 'info', text: `${text}\n` }) as const

test('output of a program is stored in order, with its streams distinguished', async () => {
  const run = await oneRun()
  const log = aWriter().open(run)

  log.write('stdout', Buffer.from('one\ntwo\n'))
  log.write('stderr', Buffer.from('oh\n'))
  log.write('stdout', Buffer.from('three'))
  log.say('warn', 'careful')
  await log.end()

  expect((await stored(run)).map(({ stream, level, text }) => ({ stream, level, text }))).toEqual([
    { stream: 'stdout', level: null, text: 'one\ntwo\n' },
    { stream: 'stderr', level: null, text: 'oh\n' },
    { stream: 'log', level: 'warn', text: 'careful\n' },
    { stream: 'stdout', level: null, text: 'three' },
  ])
})

test('output appears while the attempt is running, including an unfinished line', async () => {
  const run = await oneRun()
  const log = aWriter().open(run)

  log.write('stdout', Buffer.from('first\n'))
  await eventually(async () => (await textOf(run)) === 'first\n')
  log.write('stdout', Buffer.from('name: '))

  await eventually(async () => (await textOf(run)) === 'first\nname: ')
  await log.end()
})

test('bytes that are not valid text are stored as replacement characters', async () => {
  const run = await oneRun()
  const log = aWriter().open(run)
  const letter = Buffer.from('é')

  log.write('stdout', Buffer.from([0x61, 0, 0xff, 0x62]))
  log.write('stdout', letter.subarray(0, 1))
  log.write('stdout', letter.subarray(1))
  log.say('info', 'a\0b\ud800c')
  await log.end()

  expect(await textOf(run)).toBe('a\ufffdb\ufffdc\na\ufffd\ufffdbé')
})

test('beyond its limit, a log stores only how much was omitted', async () => {
  const run = await oneRun()
  const log = aWriter(2_048).open(run)
  const lines = Array.from({ length: 1_000 }, (_, i) => `line ${String(i).padStart(4, '0')}\n`)

  for (const each of lines) log.write('stdout', Buffer.from(each))
  await log.end()

  const rows = await stored(run)
  const kept = rows.map(({ text }) => text).join('')
  const note = rows.at(-1)
  expect(lines.join('').startsWith(kept)).toBe(true)
  expect(kept.length).toBeGreaterThan(1_500)
  expect(Math.max(...rows.map(({ bytes }) => bytes))).toBeLessThanOrEqual(2_048)
  expect(note).toMatchObject({
    text: '',
    lines: Math.ceil(1_000 - kept.length / 10),
    omitted: 10_000 - kept.length,
  })
})

test('a long line is stored in pieces that end at character boundaries', async () => {
  const run = await oneRun()
  const log = aWriter().open(run)
  const text = 'ä€😀'.repeat(10_000)

  log.write('stderr', Buffer.from(text))
  await log.end()

  const rows = await stored(run)
  expect(rows.length).toBeGreaterThan(4)
  expect(Math.max(...rows.map((row) => Buffer.byteLength(row.text)))).toBeLessThanOrEqual(16 * 1024)
  expect(rows.map((row) => row.text).join('')).toBe(text)
})

test('a secret is redacted wherever it is split', async () => {
  const secret = 'correct-horse-battery'
  for (let cut = 1; cut < secret.length; cut += 5) {
    const run = await oneRun()
    const log = aWriter().open(run)
    log.redactWith(new Redactor([['PASSWORD', secret]]))

    log.write('stdout', Buffer.from(`using ${secret.slice(0, cut)}`))
    await eventually(async () => (await textOf(run)).length >= 5)
    log.write('stdout', Buffer.from(`${secret.slice(cut)} now\n`))
    log.say('info', `said ${secret}`)
    await log.end()

    const rows = await stored(run)
    const written = (stream: string) =>
      rows.flatMap((row) => (row.stream === stream ? row.text : [])).join('')
    expect(written('stdout')).toBe('using [secret PASSWORD] now\n')
    expect(written('log')).toBe('said [secret PASSWORD]\n')
  }
})

test('logs of a hundred attempts at once take few statements', async () => {
  const runs = await runsInProgress(100)
  const writer = aWriter()
  let statements = 0
  const count = db.run.bind(db)
  const counting = Object.assign(Object.create(db) as Database, {
    run: (statement: Parameters<Database['run']>[0]) => {
      if (statement.text.includes('into run_log')) statements++
      return count(statement)
    },
  })
  const counted = aWriter(1_048_576, counting)
  const logs = runs.map((run) => counted.open(run))

  for (let i = 0; i < 10; i++) for (const log of logs) log.say('info', `line ${i}`)
  await Promise.all(logs.map((log) => log.end()))

  for (const run of runs) expect((await textOf(run)).split('\n')).toHaveLength(11)
  expect(statements).toBeLessThanOrEqual(4)
  expect(writer.isCrowded).toBe(false)
})

test('log lines of an attempt with a stale fence are not stored', async () => {
  const run = await oneRun()
  const stale = { ...run, fence: run.fence - 1 }
  const writer = aWriter()
  const log = writer.open(stale)

  log.say('info', 'too late')
  await log.end()
  const isHeld = await writer.store({ ...stale, first: 0, entries: [line('too late')] })

  expect(isHeld).toBe(false)
  expect(await stored(stale)).toEqual([])
})

test('one log row that the database refuses is left out, and the others are stored', async () => {
  const [bad, good] = (await runsInProgress(2)) as [LoggedAttempt, LoggedAttempt]
  const writer = aWriter()
  await db.run({
    text: `alter table run_log add constraint refused_by_test check (text <> E'bad\\n') not valid`,
    values: [],
  })
  const logs = [writer.open(bad), writer.open(good)] as const

  logs[0].write('stderr', Buffer.from('before\n'))
  logs[0].say('info', 'bad')
  logs[0].write('stdout', Buffer.from('after\n'))
  logs[1].say('info', 'fine')
  await Promise.all(logs.map((log) => log.end()))
  await db.run({ text: 'alter table run_log drop constraint refused_by_test', values: [] })

  expect(await textOf(good)).toBe('fine\n')
  expect(await textOf(bad)).toBe('before\nafter\n')
  expect((await stored(bad)).at(-1)).toMatchObject({ lines: 1 })
  expect(
    await db.run(
      sql`select run_id as "runId" from refused_row where operation = 'log' and settled_at is null`,
    ),
  ).toEqual([{ runId: bad.runId }])
})

test('lines of a remote worker are stored once, even if sent repeatedly and to several nodes', async () => {
  const run = await oneRun()
  const [one, other] = [aWriter(), aWriter()]
  const entries = Array.from({ length: 30 }, (_, i) => line(`line ${i}`))

  await one.store({ ...run, first: 0, entries: entries.slice(0, 10) })
  await other.store({ ...run, first: 0, entries: entries.slice(0, 15) })
  await one.store({ ...run, first: 15, entries: entries.slice(15, 20) })
  await Promise.all([
    one.store({ ...run, first: 20, entries: entries.slice(20) }),
    other.store({ ...run, first: 20, entries: entries.slice(20) }),
  ])

  expect(await textOf(run)).toBe(entries.map(({ text }) => text).join(''))
})

test('lines that arrive during a write are stored by the next one', async () => {
  const runs = await runsInProgress(20)
  const writer = aWriter()

  const stored = await Promise.all(
    runs.map(async (run, i) => {
      for (let turn = 0; turn < i; turn++) await new Promise(setImmediate)
      return writer.store({ ...run, first: 0, entries: [line(`of run ${i}`)] })
    }),
  )

  expect(stored).toEqual(Array(20).fill(true))
  for (const [i, run] of runs.entries()) expect(await textOf(run)).toBe(`of run ${i}\n`)
})

test('the log limit of an attempt holds across all nodes that receive its lines', async () => {
  const run = await oneRun()
  const writers = [aWriter(4_096), aWriter(4_096), aWriter(4_096)]

  for (let i = 0; i < 12; i++)
    await writers[i % 3]?.store({ ...run, first: i * 10, entries: Array(10).fill(line('x'.repeat(99))) })

  const rows = await stored(run)
  const kept = rows.map(({ text }) => text).join('').length
  expect(kept).toBeLessThanOrEqual(4_096)
  expect(kept).toBeGreaterThan(3_000)
  expect(rows.at(-1)).toMatchObject({ lines: Math.ceil(120 - kept / 100), omitted: 12_000 - kept })
})

test('a gibibyte of output is counted in bounded memory', async () => {
  const run = await oneRun()
  const log = aWriter().open(run)
  const chunk = Buffer.alloc(1024 * 1024, `${'x'.repeat(1_023)}\n`)
  globalThis.gc?.()
  const before = process.memoryUsage()
  let most = 0

  for (let i = 0; i < 1_024; i++) {
    log.write(i % 2 ? 'stdout' : 'stderr', chunk)
    await log.room()
    if (i % 64 === 0) {
      await new Promise(setImmediate)
      const { heapUsed, external, arrayBuffers } = process.memoryUsage()
      const grown = heapUsed + external + arrayBuffers
      most = Math.max(most, grown - before.heapUsed - before.external - before.arrayBuffers)
    }
  }
  await log.end()

  const rows = await stored(run)
  const kept = rows.reduce((sum, row) => sum + Buffer.byteLength(row.text), 0)
  expect(kept).toBeLessThanOrEqual(1_048_576)
  expect(rows.at(-1)).toMatchObject({
    omitted: 1_024 ** 3 - kept,
    lines: 1_024 ** 2 - Math.floor(kept / 1_024),
  })
  expect(most).toBeLessThan(100 * 1024 * 1024)
})

test('a missing log partition is created, and reading a log scans only the days of its run', async () => {
  const run = await oneRun()
  const today = new Date().toISOString().slice(0, 10).replaceAll('-', '')
  await db.run({ text: `drop table run_log_${today}`, values: [] })
  const log = aWriter().open(run)

  log.say('info', 'still here')
  await log.end()
  const asked = { runId: run.runId, claimedFrom: Date.now() - 86_400_000, claimedUntil: Date.now() }
  const filter = { attempt: null, since: null, text: null, after: LOG_START, limit: 64 }
  const { text, values } = readLog({ ...asked, ...filter })
  const explained = await db.run<unknown>({ text: `explain (format json) ${text}`, values })

  expect(await textOf(run)).toBe('still here\n')
  const partitions = new Set(JSON.stringify(explained).match(/run_log_\d{8}(?!_)/g))
  expect([...partitions]).toContain(`run_log_${today}`)
  expect(partitions.size).toBeLessThanOrEqual(4)
})

test('a writer stores its remaining lines when it stops', async () => {
  const run = await oneRun()
  const writer = aWriter()
  const log = writer.open(run)

  log.say('info', 'last words')
  await writer.stop()

  expect(await textOf(run)).toBe('last words\n')
})

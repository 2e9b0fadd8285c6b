/** The overview: every number in it against the tables that it is made of. */
import { beforeEach, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import type { Schedule } from '../../src/core/schedule/schedule.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { utc } from '../../src/core/values/utc.ts'
import { Tally } from '../../src/maintenance/tally.ts'
import { MAX_STREAK } from '../../src/operations/overview/failing-tasks.ts'
import { readStats } from '../../src/operations/overview/stats.ts'
import { workOut } from '../../src/operations/schedules/forecast.ts'
import { sql } from '../../src/store/database/sql.ts'
import { saveProgress } from '../../src/store/history/tally.ts'
import { writeCircuits } from '../../src/store/targets/target-circuits.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { aDefinition, aNode, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { IS_BALANCED } from '../support/balancer.ts'
import { createTestDatabase } from '../support/database.ts'
import { DAY_MS, makeHistory } from '../support/history.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send, context } = await createTestApp(database)
const stats = () => readStats(context)
const MINUTE_MS = 60_000

beforeEach(async () => {
  await db.run(sql`truncate agenda, run, attempt, tally, task, task_version, node, target_circuit cascade`)
  await db.run(saveProgress(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - MINUTE_MS))
  await ownShards(db, await aNode(db))
  await db.run(sql`update shard set watched_until = clock_timestamp() + interval '1 minute'`)
})

const tallyAll = async () => {
  await db.run(saveProgress(Date.now() - 2 * 60 * MINUTE_MS))
  const tally = new Tally({ db, log: silentLogger() })
  while ((await tally.runOnce()) === 0);
}

describe('an empty database', () => {
  test('is on time, and its overview has complete lists', async () => {
    const body = await stats()

    expect(body.verdict).toEqual({
      isFine: true,
      sentence: 'On time. In the last 24 hours 0 runs ended and no occurrence was skipped.',
    })
    expect(body.minutes).toHaveLength(60)
    expect(body.next.minutes).toHaveLength(60)
    expect(body.next).toMatchObject({ atLeast: false, isEstimate: false })
    expect(body.lastDay).toMatchObject({ completed: 0, latenessMs: null, isComplete: true })
    expect(body.shards).toEqual({ total: 64, unwatched: 0, unwatchedSince: null })
  })
})

describe('circuits', () => {
  test('that are open are listed once for all nodes and named in the verdict', async () => {
    const [one, two] = [await aNode(db), await aNode(db)]
    const open = (target: string, openedAt: number) => ({
      ...{ projectId: DEFAULT_PROJECT_ID, target, state: 'open' as const, openedAt },
      until: Date.now() + 60_000,
      error: { code: 'connect_refused', message: 'refused', at: openedAt },
    })
    const since = Date.now() - 5_000
    await db.run(writeCircuits(one, [open('https://api.example.com', since)]))
    await db.run(writeCircuits(two, [open('https://api.example.com', since + 1_000)]))

    const { circuits, verdict } = await stats()

    expect(circuits).toMatchObject({ count: 1, atLeast: false })
    expect(circuits.items).toMatchObject([
      {
        target: 'https://api.example.com',
        since: utc(since),
        error: { code: 'connect_refused', message: 'refused' },
      },
    ])
    expect(verdict.isFine).toBe(false)
    expect(verdict.sentence).toMatch(
      /^Calls to https:\/\/api\.example\.com wait, because it does not respond\. /,
    )
  })
})

describe('history', () => {
  test('is counted by minute and by day, whether tallied already or not', async () => {
    const now = Date.now()
    await makeHistory(db, { runs: 3_000, from: now - 90 * MINUTE_MS, until: now, taskIds: [uuidv7()] })
    await tallyAll()

    const { minutes, lastDay } = await stats()

    // From the minutes themselves: the newest may be so young that nothing has ended in it.
    const truth = await db.run(sql<{ at: number; completed: number; failed: number; skipped: number }>`
      select minute as at, count(*) filter (where state = 'completed')::integer as completed,
             count(*) filter (where state = 'permanently_failed')::integer as failed,
             count(*) filter (where state = 'skipped')::integer as skipped
      from generate_series(date_trunc('minute', ${minutes[0]?.at}::timestamptz), ${minutes.at(-1)?.at}::timestamptz,
                           interval '1 minute') as minute
      left join run on run.ended_at >= minute and run.ended_at < minute + interval '1 minute'
      group by 1 order by 1`)
    const told = minutes.map(({ at, completed, permanentlyFailed: failed, skipped }) => ({
      at: Date.parse(at),
      completed,
      failed,
      skipped,
    }))
    expect(told).toEqual(truth)
    expect(told).toHaveLength(60)
    expect(minutes.every(({ isCounted }) => isCounted)).toBe(true)
    expect(minutes[0]?.latenessMs?.p50).toBeGreaterThan(5)
    expect(minutes[0]?.latenessMs?.p99).toBeLessThanOrEqual(25)
    expect(lastDay).toMatchObject({ completed: 2_880, permanentlyFailed: 60, cancelled: 30, skipped: 30 })
    expect(lastDay.isComplete).toBe(true)
  })

  test('is summed into longer steps, and every range contains all runs', async () => {
    const now = Date.now()
    await makeHistory(db, { runs: 3_000, from: now - 110 * MINUTE_MS, until: now, taskIds: [uuidv7()] })
    await tallyAll()

    for (const [range, steps] of [
      ['5h', 60],
      ['24h', 72],
      ['7d', 84],
    ] as const) {
      const { body } = await send('GET', `/v1/stats/history?range=${range}`)

      const sum = (field: string) =>
        body.steps.reduce((total: number, step: Record<string, number>) => total + (step[field] ?? 0), 0)
      expect(body).toMatchObject({ range })
      expect(body.steps).toHaveLength(steps)
      expect([sum('completed'), sum('permanentlyFailed'), sum('skipped')], range).toEqual([2_880, 60, 30])
      expect(Date.parse(body.steps.at(-1).at)).toBeLessThanOrEqual(Date.now())
      // A step that has only just begun has no runs.
      const last = body.steps.findLast(({ completed }: { completed: number }) => completed > 0)
      expect(last.latenessMs.p99).toBeLessThanOrEqual(25)
    }
  })

  test('that has not been tallied for long is marked as uncounted, not empty', async () => {
    const now = Date.now()
    await makeHistory(db, { runs: 600, from: now - 30 * MINUTE_MS, until: now, taskIds: [uuidv7()] })
    await db.run(saveProgress(now - 25 * MINUTE_MS))

    const { minutes, lastDay } = await stats()

    const uncounted = minutes.filter(({ isCounted }) => !isCounted)
    expect(uncounted.length).toBeGreaterThanOrEqual(20)
    expect(uncounted.length).toBeLessThanOrEqual(23)
    expect(minutes.at(-1)?.isCounted).toBe(true)
    expect(minutes.at(-2)?.completed).toBeGreaterThan(0)
    expect(lastDay.isComplete).toBe(false)
  })
})

describe('live runs', () => {
  test('are counted by state, and those that wait too long are late', async () => {
    const worker = await aNode(db)
    const tasks = await tasksInAgenda(db, { count: 10, dueAt: Date.now() - 60_000 })
    const set = (from: number, to: number, state: string) =>
      db.run(sql`
        update agenda set state = ${state}::agenda_state, worker_id = case when ${state} = 'running' then ${worker}::uuid end,
          wake_at = case when ${state} = 'retrying' then now() + interval '1 hour' else wake_at end
        where run_id = any(${tasks.slice(from, to).map(({ runId }) => runId)}::uuid[])`)
    await set(0, 4, 'running')
    await set(4, 7, 'pending')
    await set(7, 9, 'retrying')
    await tasksInAgenda(db, { count: 3, dueAt: Date.now() + 3_600_000 })

    const { runs, places, verdict } = await stats()

    expect(runs).toMatchObject({
      running: { count: 4, atLeast: false },
      pending: { count: 3, atLeast: false },
      retrying: { count: 2, atLeast: false },
      late: { count: 4, atLeast: false },
    })
    expect(Date.parse(runs.late.oldestDueAt ?? '')).toBeLessThan(Date.now() - 59_000)
    expect(places).toEqual({ total: 20, busy: { count: 4, atLeast: false } })
    expect(verdict.isFine).toBe(false)
    expect(verdict.sentence).toMatch(/^4 runs are late, the oldest by 1 min\. /)
  })

  test('are counted up to a bound', async () => {
    const [task] = await tasksInAgenda(db, { count: 1, dueAt: Date.now() - 1_000 })
    await db.run(sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, state)
      select gen_random_uuid(), ${task?.taskId}, ${DEFAULT_PROJECT_ID}, n % 64, now() - interval '1 minute', now(), 1, 0, 'manual', n, 'pending'
      from generate_series(1, 30000) as n`)

    const { runs } = await stats()

    expect(runs.pending.atLeast).toBe(true)
    expect(runs.pending.count).toBeGreaterThan(9_000)
    expect(runs.pending.count).toBeLessThan(30_000)
  })
})

describe('tasks', () => {
  const endRun = (taskId: string, state: string, minutesAgo: number) =>
    db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state, reason)
      values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, now() - make_interval(mins => ${minutesAgo}), now() - make_interval(mins => ${minutesAgo}),
              1, 1, 'occurrence', ${state}::run_state, case when ${state} = 'skipped' then 'overlap' end)`)

  test('are failing if their latest run failed, with the number of failures in a row and their beginning', async () => {
    const create = async (name: string): Promise<string> =>
      (
        await send('POST', '/v1/tasks', {
          name,
          action: { type: 'sleep', duration: '1s' },
          schedule: { type: 'manual' },
        })
      ).body.id
    const [broken, mended, deleted] = [
      await create('broken'),
      await create('mended'),
      await create('deleted'),
    ]
    for (const [state, ago] of [
      ['permanently_failed', 50],
      ['completed', 40],
      ['permanently_failed', 30],
      ['permanently_failed', 20],
      ['skipped', 10],
    ] as const)
      await endRun(broken, state, ago)
    await endRun(mended, 'permanently_failed', 15)
    await endRun(mended, 'completed', 5)
    await endRun(deleted, 'permanently_failed', 5)
    await send('DELETE', `/v1/tasks/${deleted}`)

    const { tasks, verdict } = await stats()

    expect(tasks.failing).toMatchObject({ count: 1, atLeast: false })
    expect(tasks.failing.items).toMatchObject([{ taskId: broken, taskName: 'broken', failures: 2 }])
    expect(Date.now() - Date.parse(tasks.failing.items[0]?.since ?? '')).toBeGreaterThan(29 * MINUTE_MS)
    expect(verdict.sentence).toMatch(/^1 task is failing\. /)
  })

  test('that keep failing are counted back to their latest success, up to a bound', async () => {
    const [often, forEver] = await tasksInAgenda(db, { count: 2, dueAt: Date.now() + DAY_MS })
    const failed = (taskId: string | undefined, count: number) =>
      db.run(sql`
        insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
        select gen_random_uuid(), ${taskId}, ${DEFAULT_PROJECT_ID}, now() - n * interval '1 second', now() - interval '1 second', 1, n, 'occurrence',
               'permanently_failed'
        from generate_series(1, ${count}::integer) as n`)
    await failed(often?.taskId, 342)
    await failed(forEver?.taskId, MAX_STREAK + 1)

    const { items } = (await stats()).tasks.failing
    const of = (task: { taskId: string } | undefined) => items.find(({ taskId }) => taskId === task?.taskId)

    expect(of(often)).toMatchObject({ failures: 342, atLeast: false })
    expect(Date.now() - Date.parse(of(often)?.since ?? '')).toBeGreaterThanOrEqual(342_000)
    expect(of(forEver)).toMatchObject({ failures: MAX_STREAK, atLeast: true })
  })

  test('are counted, and paused ones are shown with the start of the longest pause', async () => {
    const tasks = await tasksInAgenda(db, { count: 12, dueAt: Date.now() + DAY_MS })
    await db.run(sql`
      update task set paused_at = now() - interval '8 days'
      where id = any(${tasks.slice(0, 3).map(({ taskId }) => taskId)}::uuid[])`)

    const body = await stats()

    expect(body.tasks.total).toEqual({ count: 12, atLeast: false })
    expect(body.tasks.paused).toMatchObject({ count: 3, atLeast: false })
    expect(Date.now() - Date.parse(body.tasks.paused.since ?? '')).toBeGreaterThan(7.9 * DAY_MS)
  })
})

describe('the next hour', () => {
  test('contains every occurrence of the schedules, not only the next of each', async () => {
    const create = (schedule: unknown, more = {}) =>
      send('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1s' }, schedule, ...more })
    await create({ type: 'every', interval: '10s' })
    await create({ type: 'every', interval: '1m' }, { maxRuns: 5 })
    await create({ type: 'cron', expression: '*/5 * * * *', timezone: 'Asia/Kolkata' })
    await create({ type: 'once', at: new Date(Date.now() + 30.5 * MINUTE_MS).toISOString() })
    await create({ type: 'once', at: new Date(Date.now() + 120 * MINUTE_MS).toISOString() })

    const { next } = await stats()

    const counts = next.minutes.map(({ count }) => count)
    const total = counts.reduce((sum, count) => sum + count, 0)
    expect(next).toMatchObject({ atLeast: false, isEstimate: false })
    // Of the minute that has begun a part has passed, and the last one ends within the hour.
    expect(total).toBeGreaterThanOrEqual(354 + 5 + 11 + 1)
    expect(total).toBeLessThanOrEqual(361 + 5 + 13 + 1)
    expect(counts.slice(10, 55).every((count) => count >= 6 && count <= 8)).toBe(true)
  })

  test('is a lower bound when runs of chains follow at unknown instants', async () => {
    await send('POST', '/v1/tasks', {
      action: { type: 'sleep', duration: '1s' },
      schedule: { type: 'delay', interval: '1s' },
      startAt: new Date(Date.now() + MINUTE_MS).toISOString(),
    })

    const { next } = await stats()

    expect(next.atLeast).toBe(true)
    expect(next.minutes.reduce((sum, { count }) => sum + count, 0)).toBe(1)
  })

  test('is estimated from a few shards when it contains very many occurrences', async () => {
    const [task] = await tasksInAgenda(db, { count: 1, dueAt: Date.now() + DAY_MS })
    await db.run(sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial)
      select gen_random_uuid(), ${task?.taskId}, ${DEFAULT_PROJECT_ID}, n % 64, at, at, 1, 0, 'occurrence', n
      from (select n, now() + random() * interval '59 minutes' as at from generate_series(1, 60000) as n) made`)

    const { next } = await stats()

    expect(next).toMatchObject({ atLeast: true, isEstimate: true })
    const total = next.minutes.reduce((sum, { count }) => sum + count, 0)
    expect(total).toBeGreaterThan(48_000)
    expect(total).toBeLessThan(72_000)
  })

  test('is computed up to a number of instants', async () => {
    const first = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
    const rule = (schedule: Schedule) => ({ at: first, ordinal: 1, definition: aDefinition({ schedule }) })
    const each = rule({ type: 'cron', expression: '* * * * * *', timezone: 'UTC' })
    const chain = rule({ type: 'delay', interval: '1m' })

    const sum = ({ minutes }: { minutes: readonly { count: number }[] }) =>
      minutes.reduce((total, { count }) => total + count, 0)

    const cut = await workOut([each, each], first, 10)
    const whole = await workOut([each], first)
    const beside = await workOut([chain, each], first)

    expect(sum(cut)).toBe(20)
    expect(cut.isComplete).toBe(false)
    expect(whole.isComplete).toBe(true)
    expect(sum(whole)).toBe(3_599)
    expect(beside).toEqual({ minutes: whole.minutes, isComplete: false })
  })
})

test('unwatched shards, lost nodes and quiet nodes are reported', async () => {
  await db.run(sql`update shard set watched_until = now() - interval '1 hour' where id < 3`)
  const lost = await aNode(db)
  const old = await aNode(db)
  const quiet = await aNode(db)
  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${lost}`)
  await db.run(sql`update node set dead_at = now() - interval '2 hours', reason = 'lost' where id = ${old}`)
  await db.run(sql`update node set beat_at = now() - interval '1 minute' where id = ${quiet}`)

  const body = await stats()

  expect(body.shards).toMatchObject({ unwatched: 3, unwatchedSince: expect.any(String) })
  expect(body.nodes).toEqual({ alive: 1, quiet: 1, lost: 1 })
  expect(body.verdict.sentence).toMatch(
    /^No scheduler watches 3 shards; .* 1 node died in the last hour\. 1 node has sent no recent heartbeat\. /,
  )
})

// Each server keeps its own answer.
test.skipIf(IS_BALANCED)('concurrent requests get the same answer', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => send('GET', '/v1/stats')))
  const later = await send('GET', '/v1/stats')

  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(later.body.now).toBe(answers[0]?.body.now)
})

describe('the overview of a project', () => {
  const OTHER = uuidv7()
  const ofProject = async (projectId: string) => {
    const { runs, next, places } = await readStats({ ...context, projectId })
    return { runs, next, places }
  }

  test.each([
    ['a project', OTHER, DEFAULT_PROJECT_ID],
    ['the project default', DEFAULT_PROJECT_ID, OTHER],
  ])('of %s does not depend on other projects', async (_, own, other) => {
    await db.run(sql`insert into project (id, name) values (${OTHER}, 'other') on conflict do nothing`)
    const hourly = { schedule: { type: 'every', interval: '1h' } as Schedule }
    const worker = await aNode(db)
    const [running] = await tasksInAgenda(db, { projectId: own, count: 2, dueAt: Date.now() - 20_000 })
    await db.run(
      sql`update agenda set state = 'running', worker_id = ${worker} where run_id = ${running?.runId}`,
    )
    await tasksInAgenda(db, {
      projectId: own,
      definition: hourly,
      count: 3,
      dueAt: Date.now() + 30 * MINUTE_MS,
    })
    const alone = await ofProject(own)

    // More than is looked at of every shard, before and between what the project has.
    const [due] = await tasksInAgenda(db, { projectId: other, dueAt: Date.now() - 60_000 })
    const [ahead] = await tasksInAgenda(db, {
      projectId: other,
      dueAt: Date.now() + MINUTE_MS,
      definition: hourly,
    })
    for (const runId of [due?.runId, ahead?.runId])
      await db.run(sql`
        insert into agenda (run_id, task_id, project_id, wake_at, scheduled_for, version, ordinal, shard, serial, kind, lane)
        select gen_random_uuid(), task_id, project_id, wake_at, scheduled_for, version, ordinal, s.id, 1 + n * 64 + s.id, kind, lane
        from agenda, generate_series(0, 63) as s(id), generate_series(1, 600) as n where run_id = ${runId}`)
    await db.run(sql`analyze agenda`)

    expect(alone.runs.running).toEqual({ count: 1, atLeast: false })
    expect(alone.runs.late).toMatchObject({ count: 1, atLeast: false })
    expect(alone.next.isEstimate).toBe(false)
    const beside = await ofProject(own)
    expect(inMinutesOf(beside, alone)).toEqual(inMinutesOf(alone, beside))
  })

  type Overview = Awaited<ReturnType<typeof ofProject>>
  /** What comes next is told minute by minute, and one may have passed from one answer to the other. */
  function inMinutesOf(overview: Overview, other: Overview): Overview {
    const known = new Set(other.next.minutes.map(({ at }) => at))
    const minutes = overview.next.minutes.filter(({ at }) => known.has(at))
    expect(minutes.length).toBeGreaterThan(50)
    return { ...overview, next: { ...overview.next, minutes } }
  }
})

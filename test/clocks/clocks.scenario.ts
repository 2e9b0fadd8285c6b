/**
 * Nobody is early, whatever clocks do: those of nodes have no effect, the database's is followed, and when it is set somebody
 * hears of it and history says what happened.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { type Hit, startSink } from '../support/sink.ts'
import { everyClock, FakedPostgres, wallClock } from './faked-clock.ts'

/** A delivery this much ahead of its instant is early; what is less is beyond what the sink can measure. */
const EARLY_MS = 5
const RUNS = 400
const FIRST_IN_MS = 1_500
const APART_MS = 12.5
/** By then a step was noticed by everybody. */
const NOTICED_MS = 1_000
/** A delivery may have begun before an instant and arrive so much later. */
const ON_ITS_WAY_MS = 100
const HOUR_MS = 3_600_000

let postgres: FakedPostgres
beforeAll(async () => {
  postgres = await FakedPostgres.start()
})
afterAll(() => postgres.stop())

interface Trial {
  readonly node: Belfry
  readonly db: Database
  readonly hits: readonly Hit[]
  /** When the first is due, and when the last, by the database's clock as it is now. */
  readonly firstAt: number
  readonly lastAt: number
}

/** A node, and runs that are due every few milliseconds from soon on. */
async function aTrial(env: Record<string, string> = {}): Promise<Trial> {
  const { url, db } = await postgres.database()
  const node = await startBelfry(['--database-url', url, '--log-level', 'info'], { env })
  const { url: target, hits } = await startSink()
  const firstAt = Math.floor(postgres.at(Date.now())) + FIRST_IN_MS
  const tasks = Array.from({ length: RUNS }, (_, i) => ({
    action: { type: 'webhook', url: target, body: {} },
    schedule: { type: 'once', at: new Date(firstAt + Math.floor(i * APART_MS)).toISOString() },
  }))
  expect((await node.request('POST', '/v1/tasks/bulk', { tasks })).status).toBe(201)
  return { node, db, hits, firstAt, lastAt: firstAt + Math.floor(RUNS * APART_MS) }
}

const dueOf = ({ headers }: Hit) => Date.parse(String(headers['belfry-scheduled-for']))
const earlyBy = (hit: Hit) => dueOf(hit) - postgres.at(hit.at)
const worst = (hits: readonly Hit[]) => Math.max(...hits.map(earlyBy))

/** By the database's clock. */
const until = (instant: number) => eventually(async () => postgres.at(Date.now()) >= instant)

async function endTrial({ node, db, hits }: Trial): Promise<void> {
  const early = hits.filter((hit) => earlyBy(hit) > EARLY_MS).length
  process.stdout.write(
    `${hits.length} delivered, ${early} early, the first by ${worst(hits).toFixed(1)} ms\n`,
  )
  node.kill('SIGKILL')
  await node.exited
  await db.close()
}

const lateness = async (db: Database) =>
  new Map(
    (
      await db.run(sql<{ runId: string; lateMs: number }>`
        select run_id as "runId", late_ms as "lateMs" from run where late_ms is not null`)
    ).map(({ runId, lateMs }) => [runId, lateMs]),
  )

const allDone = (trial: Trial) => eventually(async () => (await lateness(trial.db)).size === RUNS)

function expectOnce(hits: readonly Hit[]): void {
  expect(new Set(hits.map(({ headers }) => headers['webhook-id'])).size).toBe(hits.length)
}

async function expectAlarm({ node }: Trial, byMs: number): Promise<void> {
  await eventually(async () => node.log.some(({ msg }) => msg === 'the database clock was set'))
  const { body } = await eventually(async () => {
    const answer = await node.request('GET', '/v1/stats')
    return answer.body.clock?.lastStep ? answer : undefined
  })
  expect(Math.abs(body.clock.lastStep.byMs - byMs)).toBeLessThan(250)
  expect(body.verdict.isFine).toBe(false)
  expect(body.verdict.sentence).toContain(`The database clock was set ${byMs < 0 ? 'back' : 'forward'} by`)
}

test.each([
  ['a second behind', wallClock('-1s')],
  ['an hour ahead', wallClock('+1h')],
  ['a day behind', wallClock('-1d')],
  ['a day ahead, and too fast by a tenth', wallClock('+1d x1.1')],
])('a node whose wall clock is %s performs every run, and none early', async (_, env) => {
  const trial = await aTrial(env)

  await allDone(trial)

  expect(worst(trial.hits)).toBeLessThan(EARLY_MS)
  expectOnce(trial.hits)
  expect(Math.min(...(await lateness(trial.db)).values())).toBeGreaterThanOrEqual(0)
  await endTrial(trial)
})

test.each([
  ['fast', 1.0005],
  ['slow', 0.9995],
])('a node whose clocks are all %s by 500 ppm performs every run, and none early', async (_, rate) => {
  const trial = await aTrial(everyClock(rate))

  await allDone(trial)

  expect(worst(trial.hits)).toBeLessThan(EARLY_MS)
  expect(Math.min(...(await lateness(trial.db)).values())).toBeGreaterThanOrEqual(0)
  await endTrial(trial)
})

test.each([0.98, 1.02, 0.9])(
  'no run is early while the database clock goes at %f of its speed',
  async (rate) => {
    const trial = await aTrial()
    await until(trial.firstAt + 500)

    postgres.slew(rate)
    await allDone(trial)

    expect(worst(trial.hits)).toBeLessThan(EARLY_MS)
    await endTrial(trial)
  },
)

test('a database clock set back by half a second is noticed at once and reported, and history stays true', async () => {
  const trial = await aTrial()
  await until(trial.firstAt + 1_500)

  postgres.set(-500)
  const setAt = Date.now()
  await allDone(trial)

  const early = trial.hits.filter((hit) => earlyBy(hit) > EARLY_MS)
  expect(early.filter(({ at }) => at > setAt + NOTICED_MS)).toEqual([])
  expectOnce(trial.hits)
  // What began early is recorded as early, by about as much; what began before and arrived after is not.
  const late = await lateness(trial.db)
  const recorded = (hit: Hit) => late.get(String(hit.headers['webhook-id'])) ?? 0
  const untrue = early.filter((hit) => recorded(hit) >= 0 || Math.abs(recorded(hit) + earlyBy(hit)) > 100)
  expect(
    untrue.filter(({ at }) => at > setAt + ON_ITS_WAY_MS).map((hit) => [recorded(hit), earlyBy(hit)]),
  ).toEqual([])
  await expectAlarm(trial, -500)
  await endTrial(trial)
})

test('a database clock set forward by an hour makes runs late but repeats none, and is reported', async () => {
  const trial = await aTrial()
  await until(trial.firstAt + 1_500)

  postgres.set(HOUR_MS)
  await allDone(trial)

  expect(worst(trial.hits)).toBeLessThan(EARLY_MS)
  expectOnce(trial.hits)
  await expectAlarm(trial, HOUR_MS)
  await endTrial(trial)
})

test('a database clock set back by a day stops runs that are no longer due, repeats none, and is reported', async () => {
  const trial = await aTrial()
  await until(trial.firstAt + 1_500)

  postgres.set(-24 * HOUR_MS)
  const setAt = Date.now()
  await expectAlarm(trial, -24 * HOUR_MS)
  await until(trial.lastAt - 24 * HOUR_MS)

  expect(trial.hits.filter((hit) => hit.at > setAt + NOTICED_MS)).toEqual([])
  postgres.set(0)
  await allDone(trial)
  expectOnce(trial.hits)
  await endTrial(trial)
})

/** What a worker says about runs that it holds, and what it is told about them. */

import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { logOf } from '../../support/logs.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { aName, completed, held, type Protocol } from './protocol.ts'

export function reports({ db, node, other, create, createMany, runOf }: Protocol): void {
  test('a report counts once, however often it is repeated, and is acknowledged each time', async () => {
    const name = aName()
    await createMany(name, 2, { retry: { limit: 3, initial: '1h', max: '1h' } })
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
    const [good, bad] = runs as [GivenRun, GivenRun]
    const report = {
      runs: [completed(good), { ...held(bad), outcome: 'failed', error: { message: 'no such file' } }],
    }

    const answers = await Promise.all([
      worker.say('complete', report),
      worker.say('complete', report),
      worker.say('complete', report, other.url),
    ])
    const late = await worker.say('complete', report, other.url)

    for (const { body } of [...answers, late])
      expect(body.runs.map(({ recorded }: { recorded: boolean }) => recorded)).toEqual([true, true])
    expect(await runOf(good)).toMatchObject({ state: 'completed', attempt: 1 })
    expect(await runOf(bad)).toMatchObject({
      state: 'retrying',
      attempts: [
        { number: 1, outcome: 'failed', error: { code: 'handler_failed', message: 'no such file' } },
      ],
    })
  })

  test('an outcome that the database refuses stays pending, and the rest of the report is recorded', async () => {
    const name = aName()
    await createMany(name, 2)
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
    const [bad, good] = runs as [GivenRun, GivenRun]
    const report = { runs: [completed(bad), completed(good)] }
    await db.run({
      text: `alter table run add constraint refused_by_test check (run_id <> '${bad.runId}') not valid`,
      values: [],
    })

    const first = await worker.say('complete', report)
    const repeated = await worker.say('complete', report)
    await db.run(sql`alter table run drop constraint refused_by_test`)
    await eventually(async () => (await runOf(bad)).state === 'completed')
    const last = await worker.say('complete', report)

    const receipts = [
      { runId: bad.runId, recorded: false, pending: true },
      { runId: good.runId, recorded: true, pending: false },
    ]
    expect(first.body.runs).toMatchObject(receipts)
    expect(repeated.body.runs).toMatchObject(receipts)
    expect(await runOf(good)).toMatchObject({ state: 'completed' })
    expect(last.body.runs[0]).toMatchObject({ recorded: true, pending: false })
  })

  test('a report that contradicts the recorded outcome is answered as not recorded', async () => {
    const name = aName()
    await createMany(name, 2)
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
    const [done, lost] = runs as [GivenRun, GivenRun]
    const first = [completed(done, { result: { n: 1 } }), { ...held(lost), outcome: 'lost' }]
    const recorded = async (reports: unknown[], url = node.url) =>
      (await worker.say('complete', { runs: reports }, url)).body.runs.map(
        (run: { recorded: boolean }) => run.recorded,
      )

    expect(await recorded(first)).toEqual([true, true])

    expect(await recorded(first, other.url)).toEqual([true, true])
    expect(await recorded([{ ...held(done), outcome: 'failed', error: { message: 'no' } }])).toEqual([false])
    expect(await recorded([completed(done, { result: { n: 2 } })], other.url)).toEqual([false])
    expect(await recorded([completed(lost)])).toEqual([false])
    expect(await runOf(done)).toMatchObject({ state: 'completed', output: { result: { n: 1 } } })
  })

  test('of two contradicting concurrent reports one is recorded', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    const answers = await Promise.all(
      [completed(run, { result: 1 }), completed(run, { result: 2 })].map((report) =>
        worker.say('complete', { runs: [report] }),
      ),
    )

    const { output } = await runOf(run)
    expect(answers.map(({ body }) => body.runs[0].recorded)).toEqual([
      output.result === 1,
      output.result === 2,
    ])
  })

  test('a worker can set the time of the next attempt or forbid retries', async () => {
    const name = aName()
    await createMany(name, 4)
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 4) runs.push(...(await worker.claim(4 - runs.length)))
    const [later, never, far, soon] = runs as [GivenRun, GivenRun, GivenRun, GivenRun]
    const retryAt = new Date(Date.now() + 5 * 86_400_000).toISOString()
    const failed = { outcome: 'failed', error: { message: 'not now', code: 'quota', stack: 'at x' } }

    await worker.say('complete', {
      runs: [
        { ...held(later), ...failed, retryAt },
        { ...held(never), ...failed, retryable: false },
        { ...held(far), ...failed, retryAt: '9000-01-01T00:00:00Z' },
        { ...held(soon), ...failed, retryInMs: 3_600_000 },
      ],
    })

    expect(await runOf(later)).toMatchObject({ state: 'retrying', retryAt })
    const inDays = async (run: GivenRun) => (Date.parse((await runOf(run)).retryAt) - Date.now()) / 86_400_000
    expect(await inDays(far)).toBeCloseTo(30, 1)
    expect(await inDays(soon)).toBeCloseTo(1 / 24, 1)
    expect(await runOf(never)).toMatchObject({
      state: 'permanently_failed',
      error: { code: 'quota', message: 'not now', detail: { stack: 'at x' } },
    })
  })

  test('a report that is overtaken by a new fence is answered as not recorded', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    const told = await db.transaction(async (tx) => {
      await tx.run(sql`update agenda set fence = fence + 1 where run_id = ${run.runId}`)
      const reported = worker.say('complete', { runs: [{ ...held(run), outcome: 'completed' }] })
      await eventually(async () => {
        const waiting = await db.run(
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length > 0
      })
      return { reported }
    })

    expect((await told.reported).body).toEqual({ runs: [{ ...held(run), recorded: false, pending: false }] })
  })

  test('a worker cannot report about a run that it does not lease', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    const stranger = await aWorker(node.url, { handlers: [name] })

    const foreign = await stranger.say('complete', { runs: [completed(run)] })
    const stale = await worker.say('complete', { runs: [{ ...completed(run), fence: run.fence + 1 }] })
    await stranger.say('return', { runs: [held(run)] })
    const beat = await stranger.say('heartbeat', { runs: [held(run)] })

    expect(foreign.body.runs).toEqual([{ ...held(run), recorded: false, pending: false }])
    expect(stale.body.runs).toMatchObject([{ recorded: false }])
    expect(beat.body).toEqual({ cancelled: [], lost: [run.runId] })
    expect(await runOf(run)).toMatchObject({ state: 'running', workerId: worker.id, fence: run.fence })
  })

  test('a heartbeat names cancelled runs, and a late completion does not undo the cancellation', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    await node.request('POST', `/v1/runs/${run.runId}/cancel`)

    const { body } = await worker.say('heartbeat', { runs: [held(run)] }, other.url)
    await worker.say('complete', { runs: [completed(run, { result: 'too late' })] })

    expect(body).toEqual({ cancelled: [run.runId], lost: [] })
    expect(await runOf(run)).toMatchObject({ state: 'cancelled', attempts: [{ outcome: 'completed' }] })
  })

  test('progress is shown while the run is running, and its log is stored', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    await worker.say('heartbeat', { runs: [{ ...held(run), progress: { fraction: 0.5, message: 'half' } }] })
    expect(await runOf(run)).toMatchObject({ progress: { fraction: 0.5, message: 'half' } })

    const at = '2026-11-16T09:00:00.000Z'
    const log = Array.from({ length: 600 }, (_, i) => ({ at, level: 'info', message: `line ${i}` }))
    await worker.say('complete', { runs: [completed(run, { result: 'x'.repeat(70_000), log })] })
    const ended = await runOf(run)
    expect(ended).toMatchObject({ state: 'completed', progress: null })
    expect(ended.output).toEqual({ result: null, resultOmitted: expect.stringContaining('70002 characters') })
    const stored = await logOf(node, run.runId)
    expect(stored).toHaveLength(600)
    expect(stored[7]).toMatchObject({ attempt: 1, at, stream: 'log', level: 'info', text: 'line 7' })
  })
}

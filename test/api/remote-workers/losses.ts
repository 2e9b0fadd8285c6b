/** Workers that die, leave, or do not know what became of a run. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { aName, completed, held, type Protocol } from './protocol.ts'

export function losses({ db, node, create, createMany, runOf, bury }: Protocol): void {
  test('the runs of a dead worker are lost and claimed by another, and the dead worker gets 410', async () => {
    const name = aName()
    const taskId = await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    await bury(worker.id)

    const successor = await aWorker(node.url, { handlers: [name] })
    const [again] = (await successor.claim(1)) as [GivenRun]
    expect(again).toMatchObject({ runId: run.runId, attempt: 2 })
    expect(again.fence).toBeGreaterThan(run.fence)
    for (const [what, body] of [
      ['heartbeat', {}],
      ['claim', { requestId: randomUUID(), limit: 1 }],
      ['complete', { runs: [completed(run)] }],
      ['return', { runs: [held(run)] }],
      ['stop', undefined],
    ] as const)
      expect(await worker.say(what, body)).toMatchObject({ status: 410, body: { code: 'worker_gone' } })
    await successor.say('complete', { runs: [completed(again)] })
    expect(await runOf(again)).toMatchObject({
      taskId,
      state: 'completed',
      losses: 1,
      workerId: successor.id,
    })
  })

  test('a dead worker is refused even before its runs are reclaimed', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    // The lock keeps every reaper from taking the run back.
    await db.transaction(async (tx) => {
      await tx.run(sql`select from agenda where run_id = ${run.runId} for update`)
      await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${worker.id}`)
      expect(await worker.say('complete', { runs: [completed(run)] })).toMatchObject({ status: 410 })
      expect(await worker.say('return', { runs: [held(run)] })).toMatchObject({ status: 410 })
    })
  })

  test('with onWorkerLoss fail a lost run is not given to another worker', async () => {
    const name = aName()
    await createMany(name, 2, { onWorkerLoss: 'fail' })
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 2) runs.push(...(await worker.claim(2 - runs.length)))
    const [unsure, dying] = runs as [GivenRun, GivenRun]

    await worker.say('complete', { runs: [{ ...held(unsure), outcome: 'lost' }] })
    await bury(worker.id)

    for (const run of [unsure, dying])
      expect(await runOf(run)).toMatchObject({
        state: 'permanently_failed',
        attempt: 1,
        error: { code: 'worker_lost' },
      })
  })

  test('an attempt reported as lost is a loss, and the run can be claimed again', async () => {
    const name = aName()
    await create(name)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    await worker.say('complete', { runs: [{ ...held(run), outcome: 'lost' }] })

    const [again] = (await worker.claim(1)) as [GivenRun]
    expect(again).toMatchObject({ runId: run.runId, attempt: 2 })
    expect(await runOf(run)).toMatchObject({ losses: 1, attempts: [{ outcome: 'worker_lost' }] })
  })

  test('a worker that stops returns all of its runs, including those it never received', async () => {
    const name = aName()
    await createMany(name, 2)
    const worker = await aWorker(node.url, { handlers: [name] })
    const [known] = (await worker.claim(1)) as [GivenRun]
    await worker.say('return', { runs: [held(known)] })
    // The answer to this claim counts as lost.
    await worker.claim(2)

    expect(await worker.say('stop')).toMatchObject({ status: 200 })

    const successor = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 2) runs.push(...(await successor.claim(2 - runs.length)))
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(await worker.say('claim', { requestId: randomUUID(), limit: 1 })).toMatchObject({ status: 410 })
    const { body } = await node.request('GET', '/v1/workers')
    expect(body.items.find(({ id }: { id: string }) => id === worker.id)).toMatchObject({
      state: 'dead',
      reason: 'stopped',
      busy: { count: 0 },
    })
  })
}

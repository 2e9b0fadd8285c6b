/** Runs that a worker's heartbeats do not name. */
import { expect, test } from 'vitest'
import { Overruns } from '../../../src/remote/overruns.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { silentLogger } from '../../../src/telemetry/logger.ts'
import { Definitions } from '../../../src/transport/definitions.ts'
import { LocalWakeUps } from '../../../src/transport/wake-ups.ts'
import { steadyClock } from '../../support/clock.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { aName, held, LEASE_MS, type Protocol } from './protocol.ts'

export function unnamed({ db, node, createMany, runOf }: Protocol): void {
  /** Lets a lease pass for a worker, or a part of one: everything that was noted about it was noted that much earlier. */
  const passLease = async (workerId: string, part = 1.1) => {
    const lease = `${LEASE_MS * part} milliseconds`
    await db.run(sql`update node set naming_since = naming_since - ${lease}::interval where id = ${workerId}`)
    await db.run(sql`
      update named_run set at = at - ${lease}::interval
      where run_id in (select run_id from agenda where worker_id = ${workerId})`)
    await db.run(sql`
      update agenda set claimed_at = claimed_at - ${lease}::interval where worker_id = ${workerId}`)
  }
  const look = async () => {
    const parts = { db, definitions: new Definitions(db), wakeUps: new LocalWakeUps() }
    const overruns = new Overruns({ ...parts, clock: steadyClock(), log: silentLogger(), leaseMs: LEASE_MS })
    await overruns.runOnce()
  }
  const claimed = async (count: number, fields: Record<string, unknown> = {}) => {
    const name = aName()
    await createMany(name, count, { timeout: '1d', ...fields })
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < count) runs.push(...(await worker.claim(count - runs.length)))
    return { worker, runs }
  }

  test('a run that its worker does not name for a whole lease is returned, and named runs stay', async () => {
    const { worker, runs } = await claimed(2)
    const [known, unheard] = runs as [GivenRun, GivenRun]
    const beat = () => worker.say('heartbeat', { runs: [held(known)] })

    await beat()
    await look()
    expect(await runOf(unheard)).toMatchObject({ state: 'running' })
    await passLease(worker.id)
    await beat()
    await look()

    expect(await runOf(known)).toMatchObject({ state: 'running', workerId: worker.id, attempt: 1 })
    expect(await runOf(unheard)).toMatchObject({ state: 'pending', attempt: 0, losses: 0 })
    expect((await worker.say('heartbeat', { runs: [held(unheard)] })).body.lost).toEqual([unheard.runId])
  })

  test('a run that its worker has named and then omits is lost', async () => {
    const { worker, runs } = await claimed(1)
    const [run] = runs as [GivenRun]
    await worker.say('heartbeat', { runs: [] })
    // Long enough for the name to be written down. After a whole lease the node itself might take the run back before.
    await passLease(worker.id, 0.5)
    await worker.say('heartbeat', { runs: [held(run)] })

    await passLease(worker.id)
    await worker.say('heartbeat', { runs: [] })
    await look()

    expect(await runOf(run)).toMatchObject({ state: 'pending', losses: 1 })
  })

  test('a worker that names no runs, or has just begun to name them again, keeps its runs', async () => {
    const { worker, runs } = await claimed(1)
    const [run] = runs as [GivenRun]

    await passLease(worker.id)
    await worker.say('heartbeat')
    await look()
    expect(await runOf(run)).toMatchObject({ state: 'running', workerId: worker.id })

    // It was too busy to name anything for a while.
    await worker.say('heartbeat', { runs: [] })
    await look()
    expect(await runOf(run)).toMatchObject({ state: 'running', workerId: worker.id })
  })
}

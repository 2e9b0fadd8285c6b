/** Who is there: no scheduler, no worker, none that can, none that has room. */
import { expect, test } from 'vitest'
import { aWorker } from '../../support/remote-worker.ts'
import { type Asking, alsoOf, HOURLY, iso, NAP } from './asking.ts'

/** A remote worker that performs actions. */
const ACTOR = { actions: ['exec', 'http'], commands: ['/bin/true'], version: '0.2.0' }

export function workers({ api, aNode, aTask, why, untilWhy }: Asking): void {
  test('not_due: shows the next instant and what would delay the run', async () => {
    const id = await aTask({ schedule: HOURLY })

    const answer = await why(id)

    const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
    expect(answer).toMatchObject({ code: 'not_due', isNow: true, facts: { nextAt: task.nextFireAt } })
    expect(alsoOf(answer)).toEqual(['no_worker', 'shard_unwatched'])
  })

  test('shard_unwatched: a task is due without a scheduler', async () => {
    const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })

    expect(await why(id)).toMatchObject({ code: 'shard_unwatched', facts: { shard: expect.any(Number) } })
  })

  test('no_worker: a run was fired without a worker', async () => {
    await aNode(['scheduler'])
    const id = await aTask({})

    expect(await untilWhy(id, 'no_worker')).toMatchObject({ facts: { runState: 'pending', workers: 0 } })
  })

  test('no_capable_worker: no worker offers the labels', async () => {
    await aNode(['scheduler', 'worker'], { labels: ['gpu'] })
    const id = await aTask({ labels: ['gpu', 'arm'] })

    const answer = await untilWhy(id, 'no_capable_worker')

    expect(answer.facts).toMatchObject({ labels: ['arm', 'gpu'], workers: 1 })
  })

  test('remote workers count only for runs that they could claim', async () => {
    await aNode(['scheduler'])
    const far = await aWorker(api.url, { ...ACTOR, labels: ['region=us'] })
    const program = { type: 'exec', command: '/bin/true' }
    const inEurope = await aTask({ action: program, labels: ['region=eu'] })
    const call = await aTask({ labels: ['region=eu'] })
    const unlabelled = await aTask({})
    expect((await untilWhy(inEurope, 'no_capable_worker')).facts).toMatchObject({ workers: 1 })

    const near = await aWorker(api.url, { ...ACTOR, labels: ['region=eu'], queues: ['default'] })

    for (const id of [inEurope, call])
      expect(await untilWhy(id, 'workers_busy')).toMatchObject({ facts: { workers: 1, places: 10 } })
    expect(await untilWhy(unlabelled, 'no_worker')).toMatchObject({ facts: { workers: 0 } })
    for (const worker of [far, near]) await worker.say('stop', {})
  })

  test('remote workers do not count for queues that they do not serve, nor for email', async () => {
    await aNode(['scheduler'])
    const worker = await aWorker(api.url, { ...ACTOR, labels: ['region=eu'], queues: ['reports'] })
    const elsewhere = await aTask({ labels: ['region=eu'] })
    const email = { type: 'email', to: 'ann@example.com', subject: 'Report', text: 'Done' }
    const mail = await aTask({ action: email, labels: ['region=eu'], queue: 'reports' })

    expect((await untilWhy(elsewhere, 'no_capable_worker')).facts).toMatchObject({ workers: 1 })
    expect(await untilWhy(mail, 'no_capable_worker')).toMatchObject({
      sentence: expect.stringContaining('the only live worker does not provide email, region=eu.'),
      advice: 'Start a worker that provides it: belfry start --roles worker --labels region=eu',
    })
    await worker.say('stop', {})
  })

  test('workers_busy: all slots are in use, with the number of runs ahead', async () => {
    await aNode(['scheduler', 'worker'], { concurrency: 1, claimAhead: 0 })
    const first = await aTask({ action: NAP })
    await untilWhy(first, 'running')
    const second = await aTask({ action: NAP })
    await untilWhy(second, 'workers_busy')
    const third = await aTask({ action: NAP })

    const answer = await untilWhy(third, 'workers_busy')

    expect(answer.facts).toMatchObject({ places: 1, workers: 1, ahead: 1 })
  })
}

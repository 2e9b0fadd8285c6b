/** Who is there: no scheduler, no worker, none that can, none that has room. */
import { expect, test } from 'vitest'
import { type Asking, alsoOf, HOURLY, iso, NAP } from './asking.ts'

export function workers({ api, aNode, aTask, why, untilWhy }: Asking): void {
  test('not_due, with the next instant, and what would hold it up then', async () => {
    const id = await aTask({ schedule: HOURLY })

    const answer = await why(id)

    const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
    expect(answer).toMatchObject({ code: 'not_due', isNow: true, facts: { nextAt: task.nextFireAt } })
    expect(alsoOf(answer)).toEqual(['no_worker', 'shard_unwatched'])
  })

  test('shard_unwatched: it is due, and no scheduler is there', async () => {
    const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })

    expect(await why(id)).toMatchObject({ code: 'shard_unwatched', facts: { shard: expect.any(Number) } })
  })

  test('no_worker: it was fired, and no worker is there', async () => {
    await aNode(['scheduler'])
    const id = await aTask({})

    expect(await untilWhy(id, 'no_worker')).toMatchObject({ facts: { runState: 'pending', workers: 0 } })
  })

  test('no_capable_worker: none of the workers offers what it asks for', async () => {
    await aNode(['scheduler', 'worker'], { labels: ['gpu'] })
    const id = await aTask({ labels: ['gpu', 'arm'] })

    const answer = await untilWhy(id, 'no_capable_worker')

    expect(answer.facts).toMatchObject({ labels: ['arm', 'gpu'], workers: 1 })
  })

  test('workers_busy: all places are taken, and so many wait before it', async () => {
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

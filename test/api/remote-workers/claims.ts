/** Claims: who is given which runs, and what waiting for them is like. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { startTestNode } from '../../support/node.ts'
import { aWorker, type GivenRun, type HandWorker } from '../../support/remote-worker.ts'
import { aName, completed, held, type Protocol } from './protocol.ts'

/** Resolves when a claim waits at a node: of two claims of one worker there the later one counts, and ends the other. */
async function aWaitingClaim(worker: HandWorker, url: string) {
  const claims = [1, 2].map(() => worker.claim(10, { url }))
  await Promise.race(claims)
  return { answer: Promise.all(claims).then((answers) => answers.flat()) }
}

export function claims({ database, node, other, create, createMany, runOf, isPending }: Protocol): void {
  test('a run of a handler waits for a remote worker that offers the handler', async () => {
    const name = aName()
    const taskId = await create(name, {}, { url: 'x', size: [1, 2] })
    await isPending(taskId)
    const stranger = await aWorker(node.url, { handlers: [aName()] })
    expect(await stranger.claim(10, { waitMs: 0 })).toEqual([])

    const worker = await aWorker(node.url, { handlers: [name, aName()], concurrency: 5 })
    const [run, ...more] = await worker.claim(10)

    expect(more).toEqual([])
    expect(run).toMatchObject({ taskId, handler: name, payload: { url: 'x', size: [1, 2] }, attempt: 1 })
    expect(run).toMatchObject({ timeoutMs: 20 * 60_000 })
    expect(await runOf(run as GivenRun)).toMatchObject({ state: 'running', workerId: worker.id })
  })

  test('a waiting claim is answered as soon as a run is pending, also at another node', async () => {
    const name = aName()
    const worker = await aWorker(node.url, { handlers: [name] })
    const { answer } = await aWaitingClaim(worker, other.url)

    const startedAt = performance.now()
    const taskId = await create(name)
    const runs = await answer

    expect(runs).toMatchObject([{ taskId }])
    expect(performance.now() - startedAt).toBeLessThan(28_000)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(runs[0]?.scheduledFor ?? ''))
  })

  test('a claim takes at most its limit, and one report completes a batch', async () => {
    const name = aName()
    await createMany(name, 30)
    const worker = await aWorker(node.url, { handlers: [name] })
    const runs: GivenRun[] = []
    while (runs.length < 30) {
      const some = await worker.claim(7)
      expect(some.length).toBeLessThanOrEqual(7)
      runs.push(...some)
    }

    const { status, body } = await worker.say('complete', {
      runs: runs.map((run) => completed(run, { result: { doubled: run.payload } })),
    })

    expect(status).toBe(200)
    expect(body.runs).toEqual(runs.map((run) => ({ ...held(run), recorded: true, pending: false })))
    const run = await runOf(runs[3] as GivenRun)
    expect(run).toMatchObject({ state: 'completed', workerId: worker.id })
    expect(run.output).toEqual({ result: { doubled: runs[3]?.payload } })
  })

  test('a repeated claim gets the same runs again, from any node', async () => {
    const name = aName()
    await createMany(name, 5)
    const worker = await aWorker(node.url, { handlers: [name] })
    const requestId = randomUUID()
    const first = await worker.claim(3, { requestId })

    const again = await worker.claim(3, { requestId, url: other.url })

    expect(again.map(held)).toEqual(expect.arrayContaining(first.map(held)))
    expect(again).toHaveLength(first.length)
    const next = await worker.claim(10)
    expect(first.length).toBeGreaterThan(0)
    expect(new Set([...first, ...next].map(({ runId }) => runId)).size).toBe(first.length + next.length)
  })

  test('the same claim waiting at two nodes takes runs once', async () => {
    const name = aName()
    const worker = await aWorker(node.url, { handlers: [name] })
    const requestId = randomUUID()
    const both = [node.url, other.url].map((url) => worker.claim(1, { requestId, url }))
    await createMany(name, 2)

    const [one = [], two = []] = await Promise.all(both)

    expect(new Set([...one, ...two].map(({ runId }) => runId)).size).toBe(1)
  })

  test('claims respect labels, queues, and the limits of queues and concurrency keys', async () => {
    const name = aName()
    const queue = `only-${name}`
    await node.request('PATCH', `/v1/queues/${queue}`, { concurrencyLimit: 3 })
    await createMany(name, 5, { queue })
    await createMany(name, 3, { queue: `else-${name}`, concurrencyKey: name, concurrencyLimit: 2 })
    await create(name, { labels: ['gpu'] })
    const bound = await aWorker(node.url, { handlers: [name], queues: [queue] })
    const free = await aWorker(node.url, { handlers: [name], labels: ['gpu', 'eu'] })
    const all = async (worker: typeof bound, count: number) => {
      const runs: GivenRun[] = []
      while (runs.length < count) runs.push(...(await worker.claim(20)))
      return runs
    }

    const narrow = await all(bound, 3)
    expect(await bound.claim(20, { waitMs: 300 })).toEqual([])
    await all(free, 3)
    expect(await free.claim(20, { waitMs: 300 })).toEqual([])

    await bound.say('complete', { runs: narrow.slice(0, 1).map((run) => completed(run)) })
    expect(await bound.claim(20)).toHaveLength(1)
  })

  test('a hundred workers wait at two nodes, and all of them find work', async () => {
    const name = aName()
    const workers = await Promise.all(
      Array.from({ length: 100 }, () => aWorker(node.url, { handlers: [name] })),
    )
    const claims = workers.map((worker, i) => worker.claim(1, { url: i % 2 === 0 ? node.url : other.url }))

    await createMany(name, 100)

    const given = (await Promise.all(claims)).flat()
    expect(new Set(given.map(({ runId }) => runId)).size).toBe(100)
  })

  test('a node that stops answers its waiting claims at once', async () => {
    const third = await startTestNode(database, { roles: 'api' })
    const worker = await aWorker(node.url, { handlers: [aName()] })
    const { answer } = await aWaitingClaim(worker, third.url)

    const startedAt = performance.now()
    await third.stop()
    const runs = await answer

    expect(runs).toEqual([])
    expect(performance.now() - startedAt).toBeLessThan(28_000)
  })
}

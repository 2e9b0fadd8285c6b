/** What watching costs: nothing while nobody does, and no more than so many at a time. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { ChangeFeed } from '../../src/api/resources/stream/change-feed.ts'
import type { Changes } from '../../src/api/resources/stream/schemas.ts'
import { Streams } from '../../src/api/resources/stream/streams.ts'
import { Refusal } from '../../src/core/errors.ts'
import type { Database, Queryable } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { openEvents } from '../support/event-source.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send, context } = await createTestApp(database)
const create = () =>
  send('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1s' }, schedule: { type: 'manual' } })

/** A feed on the same database that counts how often it looks, and can be kept from it. */
function aFeed() {
  const looks = { count: 0, failures: 0, broken: 'nothing' as 'nothing' | 'all' | 'telling' }
  const failure = () => {
    looks.failures++
    return new Error('broken')
  }
  const db = Object.create(database.db, {
    snapshot: {
      value: (work: (tx: Queryable) => Promise<unknown>) => {
        looks.count++
        if (looks.broken === 'all') return Promise.reject(failure())
        let statements = 0
        return database.db.snapshot((tx) =>
          work({
            run: (statement) => {
              if (++statements > 1 && looks.broken === 'telling') throw failure()
              return tx.run(statement)
            },
          }),
        )
      },
    },
  }) as Database
  return { looks, feed: new ChangeFeed({ ...context, db, log: silentLogger() }) }
}

/** Time passes when it is told to; the database answers in its own. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

afterEach(() => {
  vi.useRealTimers()
})

test('the feed polls the database only while it has listeners', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { looks, feed } = aFeed()
  await pass(60_000)
  expect(looks.count).toBe(0)

  const heard: Changes[] = []
  const stopFirst = await feed.listen((changes) => heard.push(changes))
  const stopSecond = await feed.listen((changes) => heard.push(changes))
  expect(looks.count).toBe(1)
  await create()
  await pass(500)
  await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 60_000 })
  stopFirst()
  await pass(5_000)
  await vi.waitFor(() => expect(looks.count).toBeGreaterThan(2), { timeout: 60_000 })

  stopSecond()
  const before = looks.count
  await pass(600_000)
  expect(looks.count).toBe(before)
})

test.each(['all', 'telling'] as const)('a failed poll is repeated and loses nothing: %s', async (broken) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { looks, feed } = aFeed()
  const heard: Changes[] = []
  const stop = await feed.listen((changes) => heard.push(changes))
  looks.broken = broken
  const { body: task } = await create()
  await pass(500)
  await vi.waitFor(() => expect(looks.failures).toBe(1), { timeout: 60_000 })

  looks.broken = 'nothing'
  await pass(5_000)

  await vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 60_000 })
  expect(heard[0]?.tasks).toMatchObject([{ id: task.id }])
  stop()
})

test('a failed first poll refuses the stream, and the next stream starts fresh', async () => {
  const { looks, feed } = aFeed()
  looks.broken = 'all'

  await expect(feed.listen(() => {})).rejects.toThrow('broken')
  looks.broken = 'nothing'

  const stop = await feed.listen(() => {})
  stop()
})

test('the number of open streams is limited, and a stream that ends makes room', async () => {
  const { feed } = aFeed()
  const feeds = { of: () => feed, stop: () => feed.stop() }
  const streams = new Streams({ feeds, clock: context.clock, limit: 2 })
  const refusals: unknown[] = []
  const server = createServer((_, response) => {
    streams
      .open(
        { response, headers: {}, projectId: context.projectId, taskId: null, lastEventId: null },
        () => {},
      )
      .catch((error) => {
        refusals.push(error)
        response.writeHead(503).end()
      })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  whenDone(() => {
    streams.close()
    server.closeAllConnections()
    server.close()
  })
  const open = () => openEvents(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)

  const [first, second] = [await open(), await open()]
  const third = await open()
  first.close()
  const fourth = await vi.waitFor(async () => {
    const source = await open()
    expect(source.status).toBe(200)
    return source
  })

  expect([first, second, third, fourth].map(({ status }) => status)).toEqual([200, 200, 503, 200])
  expect(refusals[0]).toBeInstanceOf(Refusal)
  expect(refusals[0]).toMatchObject({ code: 'too_many_streams' })
})

/**
 * Bad input in every field of every request: refused within a second, with the field named, and nothing
 * stored. Each table says what is sent, where the answer must point, and what it must say.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { action, daily, FIELD_CASES, long, UNSTORABLE } from './bad-fields.ts'
import { createTestApp, type InjectedAnswer, storedIn } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)

const { body: existing } = await send('POST', '/v1/tasks', {
  action,
  key: 'existing',
  schedule: { type: 'every', interval: '1h' },
})
const { body: run } = await send('POST', `/v1/tasks/${existing.id}/trigger`)
const before = await storedIn(database.db)
afterAll(async () => expect(await storedIn(database.db)).toBe(before))

function expectProblem(answer: InjectedAnswer, status: number): void {
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(answer.body).toMatchObject({
    status,
    code: expect.stringMatching(/^[a-z_]+$/),
    type: expect.stringMatching(/^urn:belfry:problem:[a-z_]+$/),
    title: expect.any(String),
    requestId: answer.headers['x-request-id'],
  })
  expect(answer.status).toBe(status)
  expect(answer.body.detail).toMatch(/\.$/)
  expect(answer.body.detail).not.toMatch(/invalid input|expected .* received|pattern|undefined|\[object/i)
}

/** Longer than any refusal takes on a busy machine, and far less than what hostile input would take unbounded. */
const MOST_MS = 10_000

/** Sends a bad request and holds the answer to what every refusal owes. */
async function refused(
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  status = 422,
): Promise<InjectedAnswer> {
  const startedAt = performance.now()
  const answer = await send(method, url, body, headers)
  expect(performance.now() - startedAt).toBeLessThan(MOST_MS)
  expectProblem(answer, status)
  expect(await storedIn(database.db)).toBe(before)
  return answer
}

describe('POST /v1/tasks', () => {
  test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
    const { body } = await refused('POST', '/v1/tasks', { action, ...fields })

    expect(body).toMatchObject({ code: 'invalid_input', errors: expect.any(Array) })
    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })

  test('names everything that is wrong, up to a bound', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`field${i}`, i]))

    const { body } = await refused('POST', '/v1/tasks', { name: 1, maxRuns: 0, ...many })

    expect(body.errors).toHaveLength(20)
    expect(body.errors.map((e: { pointer: string }) => e.pointer)).toEqual(
      expect.arrayContaining(['/action', '/name', '/maxRuns', '/field0']),
    )
    expect(body.detail).toMatch(/; and 17 more\.$/)
  })
})

describe('PATCH /v1/tasks/{id}', () => {
  test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
    const { body } = await refused('PATCH', `/v1/tasks/${existing.id}`, fields)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })

  test('refuses an edit that changes nothing', async () => {
    const { body } = await refused('PATCH', `/v1/tasks/${existing.id}`, {})

    expect(body.detail).toBe('the body must name at least one field to change.')
  })
})

describe('PUT /v1/tasks/by-key/{key}', () => {
  test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
    const key = (fields as { key?: unknown }).key === undefined ? 'existing' : 'other'
    const { body } = await refused('PUT', `/v1/tasks/by-key/${key}`, { action, ...fields })

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })

  test('refuses another key in the body than in the address', async () => {
    const { body } = await refused('PUT', '/v1/tasks/by-key/one', { action, key: 'two' })

    expect(body.errors).toEqual([{ pointer: '/key', detail: 'is "two", but the address names "one"' }])
  })
})

describe('POST /v1/tasks/bulk', () => {
  test.each(FIELD_CASES)('refuses %s and names the index', async (_, fields, pointer, says) => {
    const { body } = await refused('POST', '/v1/tasks/bulk', { tasks: [{ action }, { action, ...fields }] })

    expect(body.errors[0].pointer).toBe(`/tasks/1${pointer}`)
    expect(body.errors[0].detail).toContain(says)
  })

  test.each([
    ['no list', {}, '/tasks', 'is required'],
    ['a list of none', { tasks: [] }, '/tasks', 'must hold at least 1'],
    ['one too many', { tasks: Array(10_001).fill({ action }) }, '/tasks', 'must not hold more than 10000'],
    ['an item that is null', { tasks: [null] }, '/tasks/0', 'must be an object, not null'],
    [
      'an unknown field',
      { tasks: [{ action }], dryRun: true },
      '/dryRun',
      'is not a known field; allowed are tasks',
    ],
  ])('refuses %s', async (_, payload, pointer, says) => {
    const { body } = await refused('POST', '/v1/tasks/bulk', payload)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })

  test('refuses a key that exists, or that it holds twice, and names the item', async () => {
    const taken = { tasks: [{ action }, { action, key: 'existing' }] }
    const twice = { tasks: [{ action, key: 'new' }, { action }, { action, key: 'new' }] }

    const first = await refused('POST', '/v1/tasks/bulk', taken, {}, 409)
    const second = await refused('POST', '/v1/tasks/bulk', twice, {}, 409)

    expect(first.body).toMatchObject({ code: 'key_in_use', errors: [{ pointer: '/tasks/1/key' }] })
    expect(second.body).toMatchObject({ code: 'key_in_use', errors: [{ pointer: '/tasks/2/key' }] })
  })
})

describe('a long list', () => {
  const longList = (last: object) => ({ tasks: [...Array(1_200).fill({ action }), last] })

  test('is refused as a whole for its last item, whatever is wrong with it', async () => {
    const unknown = await refused('POST', '/v1/tasks/bulk', longList({ action, retries: 1 }))
    const past = await refused('POST', '/v1/tasks/bulk', longList({ action, endAt: '2020-01-01T00:00:00Z' }))
    const taken = await refused('POST', '/v1/tasks/bulk', longList({ action, key: 'existing' }), {}, 409)

    expect(unknown.body.errors).toMatchObject([{ pointer: '/tasks/1200/retries' }])
    expect(past.body.errors).toMatchObject([{ pointer: '/tasks/1200/endAt', detail: 'is in the past' }])
    expect(taken.body.errors).toMatchObject([{ pointer: '/tasks/1200/key' }])
  })

  test('with much that is wrong is told the first twenty', async () => {
    const { body } = await refused('POST', '/v1/tasks/bulk', { tasks: Array(1_200).fill({}) })

    expect(body.errors).toHaveLength(20)
    expect(body.errors[19].pointer).toBe('/tasks/19/action')
  })
})

describe('POST /v1/schedules/preview', () => {
  test.each([
    ['no schedule', {}, '/schedule', 'is required'],
    [
      'a bad schedule',
      { schedule: { type: 'cron', expression: '61 * * * *' } },
      '/schedule/expression',
      'minute',
    ],
    ['count 0', { schedule: daily, count: 0 }, '/count', 'must be at least 1'],
    ['count 101', { schedule: daily, count: 101 }, '/count', 'must be at most 100'],
    ['count as text', { schedule: daily, count: '5' }, '/count', 'must be a number, not a string'],
    ['a bad beginning', { schedule: daily, from: 'now' }, '/from', 'is not an instant'],
    [
      'a beginning before zones',
      { schedule: daily, from: '1000-01-01T00:00:00Z' },
      '/from',
      'must lie between',
    ],
    ['a bad start', { schedule: daily, startAt: '2026-13-01T00:00:00Z' }, '/startAt', 'names a day'],
    ['a null end', { schedule: daily, endAt: null }, '/endAt', 'must be a string, not null'],
    ['an unknown field', { schedule: daily, counts: 1 }, '/counts', 'the nearest is count'],
  ])('refuses %s', async (_, payload, pointer, says) => {
    const { body } = await refused('POST', '/v1/schedules/preview', payload)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })
})

describe('PATCH /v1/queues/{name}', () => {
  test.each([
    ['0', { concurrencyLimit: 0 }, '/concurrencyLimit', 'must be at least 1'],
    ['-1', { concurrencyLimit: -1 }, '/concurrencyLimit', 'must be at least 1'],
    ['one too many', { concurrencyLimit: 100_001 }, '/concurrencyLimit', 'must be at most 100000'],
    ['a fraction', { concurrencyLimit: 1.5 }, '/concurrencyLimit', 'must be a whole number'],
    ['text', { concurrencyLimit: '5' }, '/concurrencyLimit', 'must be a number, not a string'],
    ['a list', { concurrencyLimit: [5] }, '/concurrencyLimit', 'must be a number, not a list'],
    ['true', { concurrencyLimit: true }, '/concurrencyLimit', 'must be a number, not true or false'],
    ['an unknown field', { limit: 5 }, '/limit', 'is not a known field; the nearest is concurrencyLimit'],
    ['a field it answers with', { concurrencyLimit: 5, running: 0 }, '/running', 'is not a known field'],
    ['nothing to change', {}, '', 'must name at least one field to change'],
    ['null', null, '', 'must be an object, not null'],
  ])('refuses %s, and makes no queue', async (_, payload, pointer, says) => {
    const { body } = await refused('PATCH', '/v1/queues/nobody', payload)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
    await refused('GET', '/v1/queues/nobody', undefined, {}, 404)
  })

  test('refuses a name that is none', async () => {
    const { body } = await refused('PATCH', '/v1/queues/no%20such', { concurrencyLimit: 1 })

    expect(body.errors[0].pointer).toBe('{name}')
  })
})

describe('POST /v1/tasks/{id}/trigger', () => {
  test.each([
    ['a list', [], '', 'must be an object, not a list'],
    ['an action that is text', { action: 'x' }, '/action', 'must be an object, not a string'],
    ['another type', { action: { type: 'ping' } }, '/action/type', 'cannot be overridden; of a sleep action'],
    ['an address', { action: { url: 'http://x' } }, '/action/url', 'a trigger may change duration'],
    ['a member with a slash', { action: { 'a/b': 1 } }, '/action/a~1b', 'cannot be overridden'],
    ['a bad member', { action: { duration: 'long' } }, '/action/duration', 'cannot be read at "long"'],
    [
      'a member too long',
      { action: { [long(101)]: 1 } },
      `/action/${long(100)}`,
      'must not be longer than 100',
    ],
    [
      'a member that is null',
      { action: { duration: null } },
      '/action/duration',
      'must be a string, not null',
    ],
    ['a schedule', { schedule: daily }, '/schedule', 'is not a known field'],
    ['maxRuns', { maxRuns: 1 }, '/maxRuns', 'is not a known field'],
    ['worker loss', { onWorkerLoss: 'fail' }, '/onWorkerLoss', 'is not a known field'],
    ['a queue that is none', { queue: 'no such' }, '/queue', 'must be 1 to 100 letters'],
    ['a priority too low', { priority: 1_001 }, '/priority', 'must be at most 1000'],
    ['a timeout of zero', { timeout: '0s' }, '/timeout', 'must be from 1ms to 1d'],
    [
      'retries that shrink',
      { retry: { initial: '1m' } },
      '/retry/max',
      'is 30s, less than retry.initial (1m)',
    ],
    ['an overlap that waits', { overlap: 'queue_one' }, '/overlap', 'must be one of skip, allow'],
    ['a NUL', { action: { duration: 'a\u0000' } }, '/action/duration', UNSTORABLE],
  ])('refuses %s', async (_, payload, pointer, says) => {
    const { body } = await refused('POST', `/v1/tasks/${existing.id}/trigger`, payload)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })
})

describe('POST /v1/tasks/{id}/rollback', () => {
  test.each([
    ['nothing', {}, '/version', 'is required'],
    ['no body', null, '', 'must be an object, not null'],
    ['version 0', { version: 0 }, '/version', 'must be at least 1'],
    ['a version as text', { version: '1' }, '/version', 'must be a number, not a string'],
    ['half a version', { version: 1.5 }, '/version', 'must be a whole number'],
    ['a version beyond counting', { version: 1e300 }, '/version', 'must be at most'],
    ['the present version', { version: 1 }, '/version', 'is the version that the task is at'],
    ['a version that is none', { version: 2 }, '/version', 'is none of this task; it has versions 1 to 1'],
    ['an empty reason', { version: 1, reason: '' }, '/reason', 'must not be empty'],
    ['a reason too long', { version: 1, reason: long(501) }, '/reason', 'must not be longer than 500'],
    ['an unknown field', { versions: 1 }, '/versions', 'the nearest is version'],
  ])('refuses %s', async (_, payload, pointer, says) => {
    const { body } = await refused('POST', `/v1/tasks/${existing.id}/rollback`, payload)

    const problem = body.errors.find((error: { pointer: string }) => error.pointer === pointer)
    expect(problem?.detail).toContain(says)
  })
})

describe('POST /v1/tasks/{id}/backfill', () => {
  const [from, to] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  test.each([
    ['nothing', {}, '/from', 'is required'],
    ['no body', null, '', 'must be an object, not null'],
    ['no end', { from }, '/to', 'is required'],
    ['a beginning that is none', { from: 'monday', to }, '/from', 'is not an instant'],
    ['a range of nothing', { from, to: from }, '/to', 'must lie after from'],
    ['a range that goes back', { from: to, to: from }, '/to', 'must lie after from'],
    ['the future', { from, to: '2099-01-01T00:00:00Z' }, '/to', 'lies in the future'],
    ['too much', { from: '1990-01-01T00:00:00Z', to }, '/from', 'holds more than 100000 occurrences'],
    ['another order', { from, to, order: 'random' }, '/order', 'must be one of oldest_first, newest_first'],
    ['a rate that is a number', { from, to, rate: 10 }, '/rate', 'must be a string, not a number'],
    ['a rate of days', { from, to, rate: '10/d' }, '/rate', 'such as 10/s, 100/m or 1000/h'],
    ['a rate of none', { from, to, rate: '0/s' }, '/rate', 'such as 10/s'],
    ['a rate without bounds', { from, to, rate: '5000/s' }, '/rate', 'must not be more than 1000/s'],
    ['an overlap that skips', { from, to, overlap: 'skip' }, '/overlap', 'must be one of queue_all, allow'],
    ['no runs', { from, to, maxRuns: 0 }, '/maxRuns', 'must be at least 1'],
    ['too many runs', { from, to, maxRuns: 100_001 }, '/maxRuns', 'must be at most 100000'],
    ['a dry run in words', { from, to, dryRun: 'yes' }, '/dryRun', 'must be true or false'],
    ['force as a number', { from, to, force: 1 }, '/force', 'must be true or false'],
    ['a reason too long', { from, to, reason: long(501) }, '/reason', 'must not be longer than 500'],
    ['an unknown field', { from, to, until: to }, '/until', 'is not a known field'],
  ])('refuses %s', async (_, payload, pointer, says) => {
    const { body } = await refused('POST', `/v1/tasks/${existing.id}/backfill`, payload)

    const problem = body.errors.find((error: { pointer: string }) => error.pointer === pointer)
    expect(problem?.detail).toContain(says)
  })
})

const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('queries', () => {
  const tasks = '/v1/tasks'
  const runs = `/v1/tasks/${existing.id}/runs`
  const attempts = `/v1/tasks/${existing.id}/attempts`
  test.each([
    [`${tasks}?limit=0`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=201`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=-1`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=1e2`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=NaN`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=1&limit=2`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}?limit=99999999999999999999`, '?limit', 'must be a whole number from 1 to 200'],
    [
      `${tasks}?state=done`,
      '?state',
      'must be one of scheduled, pending, running, paused, finished, cancelled',
    ],
    [`${tasks}?state=`, '?state', 'must be one of scheduled'],
    [
      `${tasks}?type=pong`,
      '?type',
      'must be one of ping, webhook, http, slack, email, sleep, handler; the nearest is ping',
    ],
    [`${tasks}?tag=`, '?tag', 'must not be empty'],
    [`${tasks}?tag=${long(101)}`, '?tag', 'must not be longer than 100 characters'],
    [`${tasks}?owner=`, '?owner', 'must not be empty'],
    [`${tasks}?q=${long(201)}`, '?q', 'must not be longer than 200 characters'],
    [`${tasks}?q=a%00b`, '?q', UNSTORABLE],
    [`${tasks}?cursor=`, '?cursor', 'must not be empty'],
    [`${tasks}?cursor=abc`, '?cursor', 'is not a cursor'],
    [`${tasks}?cursor=${cursorOf(['x'])}`, '?cursor', 'is not a cursor'],
    [`${tasks}?cursor=${long(401)}`, '?cursor', 'must not be longer than 400 characters'],
    [`${tasks}?include=last`, '?include', 'must be a list of recent, next'],
    [`${tasks}?include=`, '?include', 'must be a list of recent, next'],
    [`${tasks}?include=recent,`, '?include', 'must be a list of recent, next'],
    [`${tasks}/${existing.id}?includes=recent`, '?includes', 'the nearest is include'],
    [`${tasks}?staet=paused`, '?staet', 'is not a known field; the nearest is state'],
    [`${runs}?state=failed`, '?state', 'must be one of pending, running, retrying, completed'],
    [`${runs}?cursor=${cursorOf([1e300, run.id])}`, '?cursor', 'is not a cursor'],
    [`${runs}?cursor=${cursorOf([0.5, run.id])}`, '?cursor', 'is not a cursor'],
    [`${runs}?cursor=${cursorOf([Date.UTC(9990, 0, 1), run.id])}`, '?cursor', 'is not a cursor'],
    [`${runs}?cursor=${cursorOf([1, 'no id'])}`, '?cursor', 'is not a cursor'],
    [`${tasks}/${existing.id}/versions?cursor=${cursorOf([0])}`, '?cursor', 'is not a cursor'],
    [`${tasks}/${existing.id}/versions?cursor=${cursorOf([1e10])}`, '?cursor', 'is not a cursor'],
    [`${tasks}/${existing.id}/versions?limit=0`, '?limit', 'must be a whole number from 1 to 200'],
    [`${tasks}/${existing.id}/versions/0`, '{version}', 'must be a whole number from 1 on'],
    [`${tasks}/${existing.id}/versions/9999999999`, '{version}', 'must be a whole number from 1 on'],
    [`${tasks}/${existing.id}/backfills?cursor=${cursorOf([0])}`, '?cursor', 'is not a cursor'],
    [`${tasks}/${existing.id}/backfills?cursor=${cursorOf(['1'])}`, '?cursor', 'is not a cursor'],
    [`${runs}?limits=1`, '?limits', 'the nearest is limit'],
    ['/v1/stream?taskId=1', '?taskId', 'must be a UUID'],
    ['/v1/stream?since=1', '?since', 'is not a known field; allowed are taskId'],
    ['/v1/runs?state=failed', '?state', 'must be one of pending, running, retrying, completed'],
    ['/v1/runs?taskId=1', '?taskId', 'must be a UUID'],
    ['/v1/runs?from=yesterday', '?from', 'is not an instant'],
    ['/v1/runs?to=0001-01-01T00:00:00Z', '?to', 'must lie between the years'],
    ['/v1/runs?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z', '?to', 'must lie after from'],
    ['/v1/runs?since=24h', '?since', 'is not a known field; allowed are state,'],
    [`/v1/runs?cursor=${cursorOf([1, run.id])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?cursor=${cursorOf([1.5, run.id, 1])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?cursor=${cursorOf([1e300, run.id, 1])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?cursor=${cursorOf([1, 'no id', 1])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?cursor=${cursorOf([1, run.id, 0])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?cursor=${cursorOf([1, run.id, 1e15])}`, '?cursor', 'is not a cursor'],
    [`/v1/runs?taskId=${existing.id}&cursor=${cursorOf([1, run.id, 1])}`, '?cursor', 'is not a cursor'],
    [`${attempts}?cursor=${cursorOf([1, run.id, 1e10])}`, '?cursor', 'is not a cursor'],
    [`${attempts}?cursor=${cursorOf([1, run.id, -1])}`, '?cursor', 'is not a cursor'],
    [`${attempts}?cursor=${cursorOf([1, run.id])}`, '?cursor', 'is not a cursor'],
    [`${attempts}?state=failed`, '?state', 'is not a known field'],
  ])('GET %s is refused', async (url, pointer, says) => {
    const { body } = await refused('GET', url, undefined)

    expect(body.errors[0].pointer).toBe(pointer)
    expect(body.errors[0].detail).toContain(says)
  })

  test('a cursor at the edge of time is a cursor', async () => {
    for (const at of [Date.UTC(1900, 0, 1), Date.UTC(9990, 0, 1) - 1, 0]) {
      expect((await send('GET', `${runs}?cursor=${cursorOf([at, run.id])}`)).status).toBe(200)
      for (const window of [1, 100 * 365 * 86_400_000])
        expect((await send('GET', `/v1/runs?cursor=${cursorOf([at * 1_000, run.id, window])}`)).status).toBe(
          200,
        )
      expect((await send('GET', `${attempts}?cursor=${cursorOf([at, run.id, 32_767])}`)).status).toBe(200)
    }
  })
})

describe('addresses', () => {
  const ids = [
    '1',
    'null',
    '01900000-0000-7000-8000-00000000000g',
    long(2_000),
    '%00',
    '..%2f..',
    '%F0%9F%98%80',
  ]
  const routes: [string, string][] = [
    ['GET', '/v1/tasks/{id}'],
    ['PATCH', '/v1/tasks/{id}'],
    ['DELETE', '/v1/tasks/{id}'],
    ['POST', '/v1/tasks/{id}/pause'],
    ['POST', '/v1/tasks/{id}/resume'],
    ['POST', '/v1/tasks/{id}/cancel'],
    ['POST', '/v1/tasks/{id}/trigger'],
    ['GET', '/v1/tasks/{id}/versions'],
    ['GET', '/v1/tasks/{id}/versions/1'],
    ['POST', '/v1/tasks/{id}/rollback'],
    ['POST', '/v1/tasks/{id}/backfill'],
    ['GET', '/v1/tasks/{id}/backfills'],
    ['GET', '/v1/backfills/{id}'],
    ['POST', '/v1/backfills/{id}/cancel'],
    ['GET', '/v1/tasks/{id}/runs'],
    ['GET', '/v1/tasks/{id}/attempts'],
    ['GET', '/v1/runs/{id}'],
    ['POST', '/v1/runs/{id}/cancel'],
    ['POST', '/v1/runs/{id}/retry'],
  ]
  /** A body with which nothing is wrong. */
  const rightBody = (method: string, route: string) => {
    if (method === 'PATCH') return { name: 'x' }
    if (route.endsWith('/backfill')) return { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    return route.endsWith('/rollback') ? { version: 1 } : undefined
  }
  test.each(routes)('%s %s refuses what is no id', async (method, route) => {
    const payload = rightBody(method, route)
    for (const id of ids) {
      const { body } = await refused(method, route.replace('{id}', id), payload)
      expect(body.errors[0].pointer).toBe('{id}')
    }
  })

  test.each(routes)('%s %s does not find what does not exist', async (method, route) => {
    const payload = rightBody(method, route)
    for (const id of ['01900000-0000-7000-8000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])
      await refused(method, route.replace('{id}', id), payload, {}, 404)
  })

  test('a key that is empty, too long or cannot be stored is refused', async () => {
    const tooLong = await refused('GET', `/v1/tasks/by-key/${long(201)}`, undefined)
    const withNul = await refused('PUT', '/v1/tasks/by-key/a%00b', { action })

    expect(tooLong.body.errors[0]).toMatchObject({
      pointer: '{key}',
      detail: 'must not be longer than 200 characters',
    })
    expect(withNul.body.errors[0].pointer).toBe('{key}')
    await refused('GET', '/v1/tasks/by-key/nobody', undefined, {}, 404)
  })

  test('an address that cannot be decoded, or is endless, is refused', async () => {
    await refused('GET', '/v1/tasks/%zz', undefined, {}, 400)
    await refused('GET', `/v1/tasks/${long(10_000)}`, undefined, {}, 400)
  })
})

describe('headers', () => {
  test.each(['', long(256), 'with space', 'ümlaut', 'tab\there'])(
    'the Idempotency-Key %j is refused',
    async (key) => {
      const { body } = await refused('POST', '/v1/tasks', { action }, { 'idempotency-key': key })

      expect(body.errors).toEqual([
        { pointer: 'idempotency-key', detail: 'must be 1 to 255 visible ASCII characters' },
      ])
    },
  )

  test.each(['3', 'W/"1"', '"x"', '"99999999999"', '"1", "2"', ''])(
    'If-Match %j is refused',
    async (value) => {
      const { body } = await refused(
        'PATCH',
        `/v1/tasks/${existing.id}`,
        { name: 'x' },
        { 'if-match': value },
        412,
      )

      expect(body.errors[0].pointer).toBe('if-match')
    },
  )

  test('a traceparent that is none is left aside', async () => {
    await refused('POST', '/v1/tasks', { action, name: '' }, { traceparent: 'nonsense' })
  })

  test('a Host that is not this machine is turned away', async () => {
    await refused('GET', '/v1/tasks', undefined, { host: 'evil.example' }, 421)
  })
})

describe('bodies', () => {
  const json = { 'content-type': 'application/json' }
  test.each<[string, string, Record<string, string>, number, string]>([
    ['broken JSON', '{"action":', json, 400, 'malformed_request'],
    ['a trailing comma', '{"action":{},}', json, 400, 'malformed_request'],
    ['NaN', '{"maxRuns":NaN}', json, 400, 'malformed_request'],
    ['text', 'hello', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [
      'a form',
      'action=sleep',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['a broken content type', '{}', { 'content-type': ';;;' }, 415, 'unsupported_media_type'],
    ['a prototype', '{"__proto__":{"name":"x"}}', json, 400, 'malformed_request'],
    ['a nested prototype', '{"action":{"__proto__":1}}', json, 400, 'malformed_request'],
    ['a constructor', '{"constructor":{"prototype":{}}}', json, 400, 'malformed_request'],
    ['nothing', '', json, 422, 'invalid_input'],
    ['null', 'null', json, 422, 'invalid_input'],
    ['a list', '[]', json, 422, 'invalid_input'],
    ['a number', '1e999', json, 422, 'invalid_input'],
    ['a string', '"x"', json, 422, 'invalid_input'],
    ['a byte order mark and nothing', '\ufeff', json, 400, 'malformed_request'],
    [
      'deep lists',
      `{"metadata":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
      json,
      422,
      'invalid_input',
    ],
    ['deep objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, json, 422, 'invalid_input'],
    [
      'more than a mebibyte',
      JSON.stringify({ action, name: long(1024 * 1024) }),
      json,
      413,
      'payload_too_large',
    ],
  ])('%s is refused', async (_, payload, headers, status, code) => {
    for (const [method, url] of [
      ['POST', '/v1/tasks'],
      ['PATCH', `/v1/tasks/${existing.id}`],
      ['PUT', '/v1/tasks/by-key/existing'],
      ['POST', '/v1/schedules/preview'],
    ] as const) {
      const { body } = await refused(method, url, payload, headers, status)
      expect(body.code).toBe(code)
    }
  })

  test('a request that needs no body takes none but an empty one', async () => {
    const { body } = await refused('POST', `/v1/tasks/${existing.id}/cancel`, { payload: 1 })
    expect(body.errors[0]).toEqual({
      pointer: '/payload',
      detail: 'is not a known field; there are none here',
    })
    await refused('POST', `/v1/runs/${run.id}/cancel`, [])
    await refused('POST', `/v1/runs/${run.id}/retry`, { input: 1 })
  })
})

describe('/v1/worker', () => {
  const run = { runId: existing.id, fence: 1 }
  const claim = { requestId: existing.id, limit: 1 }
  const report = { ...run, outcome: 'completed' }
  const line = { at: '2026-11-16T09:00:00Z', level: 'info', message: '' }

  test.each<[string, string, unknown, string, string]>([
    ['register', 'nothing', undefined, '', 'must be an object'],
    ['register', 'no handlers', {}, '/handlers', 'is required'],
    ['register', 'an empty list of handlers', { handlers: [] }, '/handlers', 'must hold at least 1'],
    ['register', 'a handler twice', { handlers: ['a', 'a'] }, '/handlers', 'must name each handler once'],
    ['register', 'a bad name of a handler', { handlers: ['a b'] }, '/handlers/0', 'must be 1 to 100 letters'],
    [
      'register',
      'a concurrency of 0',
      { handlers: ['a'], concurrency: 0 },
      '/concurrency',
      'must be at least 1',
    ],
    ['register', 'no queue at all', { handlers: ['a'], queues: [] }, '/queues', 'must hold at least 1'],
    ['register', 'a name with NUL', { handlers: ['a'], name: 'a\0b' }, '/name', UNSTORABLE],
    [
      'register',
      'an unknown field',
      { handlers: ['a'], handler: 'a' },
      '/handler',
      'the nearest is handlers',
    ],
    ['claim', 'no request id', { limit: 1 }, '/requestId', 'is required'],
    ['claim', 'a request id that is none', { ...claim, requestId: 'x' }, '/requestId', 'must be a UUID'],
    ['claim', 'a limit of 0', { ...claim, limit: 0 }, '/limit', 'must be at least 1'],
    ['claim', 'a limit too high', { ...claim, limit: 501 }, '/limit', 'must be at most 500'],
    ['claim', 'too long a wait', { ...claim, waitMs: 30_001 }, '/waitMs', 'must be at most 30000'],
    ['heartbeat', 'a run twice', { runs: [run, run] }, '/runs', 'must name each run once'],
    ['heartbeat', 'a fence of 0', { runs: [{ ...run, fence: 0 }] }, '/runs/0/fence', 'must be at least 1'],
    [
      'heartbeat',
      'more than all of it',
      { runs: [{ ...run, progress: { fraction: 1.1 } }] },
      '/runs/0/progress/fraction',
      'must be at most 1',
    ],
    ['complete', 'no runs', { runs: [] }, '/runs', 'must hold at least 1'],
    ['complete', 'a run twice', { runs: [report, report] }, '/runs', 'must name each run once'],
    [
      'complete',
      'an unknown outcome',
      { runs: [{ ...run, outcome: 'done' }] },
      '/runs/0/outcome',
      'must be one of completed, failed',
    ],
    [
      'complete',
      'an instant that is none',
      { runs: [{ ...report, retryAt: 'soon' }] },
      '/runs/0/retryAt',
      'is not an instant',
    ],
    [
      'complete',
      'a code with a space',
      { runs: [{ ...report, error: { code: 'a b', message: '' } }] },
      '/runs/0/error/code',
      'must be a word of small letters',
    ],
    [
      'complete',
      'an unknown level',
      { runs: [{ ...report, log: [{ ...line, level: 'loud' }] }] },
      '/runs/0/log/0/level',
      'must be one of debug, info, warn, error',
    ],
    [
      'complete',
      'half a surrogate pair',
      { runs: [{ ...report, result: { a: '\ud800' } }] },
      '/runs/0/result/a',
      UNSTORABLE,
    ],
    ['return', 'no runs', {}, '/runs', 'is required'],
    ['return', 'a run twice', { runs: [run, run] }, '/runs', 'must name each run once'],
    ['stop', 'something to say', { reason: 'x' }, '/reason', 'is not a known field'],
  ])('%s refuses %s', async (what, _, body, pointer, says) => {
    const { body: problem } = await refused('POST', `/v1/worker/${what}`, body)

    expect(problem.errors[0]).toMatchObject({ pointer, detail: expect.stringContaining(says) })
  })
})

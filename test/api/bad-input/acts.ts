/** What is asked for besides: previews, queues, triggers, rollbacks, backfills. */
import { describe, expect, test } from 'vitest'
import { daily, long, UNSTORABLE } from '../bad-fields.ts'
import type { Refusals } from './refusals.ts'

export function acts({ refused, existing }: Refusals): void {
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
        'must be between',
      ],
      ['a bad start', { schedule: daily, startAt: '2026-13-01T00:00:00Z' }, '/startAt', 'names a day'],
      ['a null end', { schedule: daily, endAt: null }, '/endAt', 'must be a string, not null'],
      ['an unknown field', { schedule: daily, counts: 1 }, '/counts', 'the closest match is count'],
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
      [
        'an unknown field',
        { limit: 5 },
        '/limit',
        'is not a known field; the closest match is concurrencyLimit',
      ],
      ['a field it answers with', { concurrencyLimit: 5, running: 0 }, '/running', 'is not a known field'],
      ['a rate without a unit', { rate: '10' }, '/rate', 'such as 10/s'],
      ['a rate that is too high', { rate: '1001/s' }, '/rate', 'must not be more than 1000/s'],
      ['a burst of none', { rate: '10/s', burst: 0 }, '/burst', 'must be at least 1'],
      ['a burst without a rate', { concurrencyLimit: 5, burst: 2 }, '/burst', 'needs a rate, such as 10/s'],
      ['nothing to change', {}, '', 'must name at least one field to change'],
      ['null', null, '', 'must be an object, not null'],
    ])('refuses %s, and makes no queue', async (_, payload, pointer, says) => {
      const { body } = await refused('PATCH', '/v1/queues/nobody', payload)

      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
      await refused('GET', '/v1/queues/nobody', undefined, {}, 404)
    })

    test('refuses an invalid name', async () => {
      const { body } = await refused('PATCH', '/v1/queues/no%20such', { concurrencyLimit: 1 })

      expect(body.errors[0].pointer).toBe('{name}')
    })
  })

  describe('POST /v1/tasks/{id}/trigger', () => {
    test.each([
      ['a list', [], '', 'must be an object, not a list'],
      ['an action that is text', { action: 'x' }, '/action', 'must be an object, not a string'],
      [
        'another type',
        { action: { type: 'ping' } },
        '/action/type',
        'cannot be overridden; only duration of a sleep action can',
      ],
      ['an address', { action: { url: 'http://x' } }, '/action/url', 'only duration of a sleep action can'],
      ['a member with a slash', { action: { 'a/b': 1 } }, '/action/a~1b', 'cannot be overridden'],
      ['a bad member', { action: { duration: 'long' } }, '/action/duration', 'is not valid at "long"'],
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
      ['the present version', { version: 1 }, '/version', 'is the current version of the task'],
      ['a version that is none', { version: 2 }, '/version', 'does not exist; the task has versions 1 to 1'],
      ['an empty reason', { version: 1, reason: '' }, '/reason', 'must not be empty'],
      ['a reason too long', { version: 1, reason: long(501) }, '/reason', 'must not be longer than 500'],
      ['an unknown field', { versions: 1 }, '/versions', 'the closest match is version'],
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
      ['a range of nothing', { from, to: from }, '/to', 'must be after from'],
      ['a range that goes back', { from: to, to: from }, '/to', 'must be after from'],
      ['the future', { from, to: '2099-01-01T00:00:00Z' }, '/to', 'is in the future'],
      [
        'too much',
        { from: '1990-01-01T00:00:00Z', to },
        '/from',
        'makes the range contain more than 100000 occurrences',
      ],
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
}

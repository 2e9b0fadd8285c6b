/** Queries of lists: limits, filters, cursors. */
import { describe, expect, test } from 'vitest'
import { long, UNSTORABLE } from '../bad-fields.ts'
import type { Refusals } from './refusals.ts'

const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export function queries({ send, refused, existing, run }: Refusals): void {
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
        'must be one of ping, webhook, http, slack, email, sleep, handler, exec; the closest match is ping',
      ],
      [`${tasks}?tag=`, '?tag', 'must not be empty'],
      [`${tasks}?tag=${long(101)}`, '?tag', 'must not be longer than 100 characters'],
      [`${tasks}?owner=`, '?owner', 'must not be empty'],
      [`${tasks}?q=${long(201)}`, '?q', 'must not be longer than 200 characters'],
      [`${tasks}?q=a%00b`, '?q', UNSTORABLE],
      [`${tasks}?cursor=`, '?cursor', 'must not be empty'],
      [`${tasks}?cursor=abc`, '?cursor', 'is not a valid cursor'],
      [`${tasks}?cursor=${cursorOf(['x'])}`, '?cursor', 'is not a valid cursor'],
      [`${tasks}?cursor=${long(401)}`, '?cursor', 'must not be longer than 400 characters'],
      [`${tasks}?include=last`, '?include', 'must be a list of recent, next'],
      [`${tasks}?include=`, '?include', 'must be a list of recent, next'],
      [`${tasks}?include=recent,`, '?include', 'must be a list of recent, next'],
      [`${tasks}/${existing.id}?includes=recent`, '?includes', 'the closest match is include'],
      [`${tasks}?staet=paused`, '?staet', 'is not a known field; the closest match is state'],
      [`${runs}?state=failed`, '?state', 'must be one of pending, running, retrying, completed'],
      [`${runs}?cursor=${cursorOf([1e300, run.id])}`, '?cursor', 'is not a valid cursor'],
      [`${runs}?cursor=${cursorOf([0.5, run.id])}`, '?cursor', 'is not a valid cursor'],
      [`${runs}?cursor=${cursorOf([Date.UTC(9990, 0, 1), run.id])}`, '?cursor', 'is not a valid cursor'],
      [`${runs}?cursor=${cursorOf([1, 'no id'])}`, '?cursor', 'is not a valid cursor'],
      [`${tasks}/${existing.id}/versions?cursor=${cursorOf([0])}`, '?cursor', 'is not a valid cursor'],
      [`${tasks}/${existing.id}/versions?cursor=${cursorOf([1e10])}`, '?cursor', 'is not a valid cursor'],
      [`${tasks}/${existing.id}/versions?limit=0`, '?limit', 'must be a whole number from 1 to 200'],
      [`${tasks}/${existing.id}/versions/0`, '{version}', 'must be a whole number of at least 1'],
      [`${tasks}/${existing.id}/versions/9999999999`, '{version}', 'must be a whole number of at least 1'],
      [`${tasks}/${existing.id}/backfills?cursor=${cursorOf([0])}`, '?cursor', 'is not a valid cursor'],
      [`${tasks}/${existing.id}/backfills?cursor=${cursorOf(['1'])}`, '?cursor', 'is not a valid cursor'],
      [`${runs}?limits=1`, '?limits', 'the closest match is limit'],
      ['/v1/stream?taskId=1', '?taskId', 'must be a UUID'],
      ['/v1/stream?since=1', '?since', 'is not a known field; known fields: project, taskId'],
      ['/v1/runs?state=failed', '?state', 'must be one of pending, running, retrying, completed'],
      ['/v1/runs?taskId=1', '?taskId', 'must be a UUID'],
      ['/v1/runs?from=yesterday', '?from', 'is not an instant'],
      ['/v1/runs?to=0001-01-01T00:00:00Z', '?to', 'must be between the years'],
      ['/v1/runs?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z', '?to', 'must be after from'],
      ['/v1/runs?since=24h', '?since', 'is not a known field; known fields: state,'],
      [`/v1/runs?cursor=${cursorOf([1, run.id])}`, '?cursor', 'is not a valid cursor'],
      [`/v1/runs?cursor=${cursorOf([1.5, run.id, 1])}`, '?cursor', 'is not a valid cursor'],
      [`/v1/runs?cursor=${cursorOf([1e300, run.id, 1])}`, '?cursor', 'is not a valid cursor'],
      [`/v1/runs?cursor=${cursorOf([1, 'no id', 1])}`, '?cursor', 'is not a valid cursor'],
      [`/v1/runs?cursor=${cursorOf([1, run.id, 0])}`, '?cursor', 'is not a valid cursor'],
      [`/v1/runs?cursor=${cursorOf([1, run.id, 1e15])}`, '?cursor', 'is not a valid cursor'],
      [
        `/v1/runs?taskId=${existing.id}&cursor=${cursorOf([1, run.id, 1])}`,
        '?cursor',
        'is not a valid cursor',
      ],
      [`${attempts}?cursor=${cursorOf([1, run.id, 1e10])}`, '?cursor', 'is not a valid cursor'],
      [`${attempts}?cursor=${cursorOf([1, run.id, -1])}`, '?cursor', 'is not a valid cursor'],
      [`${attempts}?cursor=${cursorOf([1, run.id])}`, '?cursor', 'is not a valid cursor'],
      [`${attempts}?state=failed`, '?state', 'is not a known field'],
    ])('GET %s is refused', async (url, pointer, says) => {
      const { body } = await refused('GET', url, undefined)

      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
    })

    test('a cursor at the edge of the supported time range is valid', async () => {
      for (const at of [Date.UTC(1900, 0, 1), Date.UTC(9990, 0, 1) - 1, 0]) {
        expect((await send('GET', `${runs}?cursor=${cursorOf([at, run.id])}`)).status).toBe(200)
        for (const window of [1, 100 * 365 * 86_400_000])
          expect(
            (await send('GET', `/v1/runs?cursor=${cursorOf([at * 1_000, run.id, window])}`)).status,
          ).toBe(200)
        expect((await send('GET', `${attempts}?cursor=${cursorOf([at, run.id, 32_767])}`)).status).toBe(200)
      }
    })
  })
}

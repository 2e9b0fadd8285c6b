/** What workers of the users’ own say. */
import { describe, expect, test } from 'vitest'
import { UNSTORABLE } from '../bad-fields.ts'
import type { Refusals } from './refusals.ts'

export function workers({ refused, existing }: Refusals): void {
  describe('/v1/worker', () => {
    const run = { runId: existing.id, fence: 1 }
    const claim = { requestId: existing.id, limit: 1 }
    const report = { ...run, outcome: 'completed' }
    const line = { at: '2026-11-16T09:00:00Z', level: 'info', message: '' }

    test.each<[string, string, unknown, string, string]>([
      ['register', 'nothing', undefined, '', 'must be an object'],
      ['register', 'no handlers', {}, '/handlers', 'must name at least one handler, unless actions'],
      [
        'register',
        'an empty list of handlers',
        { handlers: [] },
        '/handlers',
        'must name at least one handler, unless actions',
      ],
      ['register', 'a handler twice', { handlers: ['a', 'a'] }, '/handlers', 'must name each handler once'],
      [
        'register',
        'a bad name of a handler',
        { handlers: ['a b'] },
        '/handlers/0',
        'must be 1 to 100 letters',
      ],
      [
        'register',
        'a concurrency of 0',
        { handlers: ['a'], concurrency: 0 },
        '/concurrency',
        'must be at least 1',
      ],
      [
        'register',
        'no queue at all',
        { handlers: ['a'], queues: [] },
        '/queues',
        'must contain at least 1 item',
      ],
      ['register', 'a name with NUL', { handlers: ['a'], name: 'a\0b' }, '/name', UNSTORABLE],
      [
        'register',
        'an unknown field',
        { handlers: ['a'], handler: 'a' },
        '/handler',
        'the closest match is handlers',
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
      ['complete', 'no runs', { runs: [] }, '/runs', 'must contain at least 1 item'],
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
        'must consist of lower-case letters',
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
}

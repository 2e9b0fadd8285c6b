import { afterAll, expect, test } from 'vitest'
import type { Action } from '../../core/action/action.ts'
import { createExecutors } from './executors.ts'
import { anAttempt, httpServer, NO_MAIL_SETTINGS, unsigned } from './test-support.ts'

const executors = createExecutors({
  http: { allowPrivate: true },
  userAgent: 'belfry/0',
  signer: unsigned,
  mail: null,
  exec: { execute: async () => ({ kind: 'completed', output: null }) },
  projectMail: NO_MAIL_SETTINGS,
})
const guarded = createExecutors({
  http: { allowPrivate: false },
  userAgent: 'belfry/0',
  signer: unsigned,
  mail: null,
  exec: { execute: async () => ({ kind: 'completed', output: null }) },
  projectMail: NO_MAIL_SETTINGS,
})
afterAll(() => Promise.all([executors.close(), guarded.close()]))

test('every action type is performed', async () => {
  const { url } = await httpServer((_request, response) => response.end())
  const actions: Action[] = [
    { type: 'ping', url },
    { type: 'webhook', url, body: { hello: 'world' } },
    { type: 'http', url, method: 'OPTIONS' },
    { type: 'sleep', duration: '1ms' },
  ]

  const outcomes = await Promise.all(actions.map((action) => executors.execute(action, anAttempt())))

  expect(outcomes.map(({ kind }) => kind)).toEqual(actions.map(() => 'completed'))
})

test('private addresses are out of reach unless they are allowed', async () => {
  const { url, sockets } = await httpServer((_request, response) => response.end())

  const outcome = await guarded.execute({ type: 'ping', url }, anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'forbidden_address' } })
  expect(sockets).toHaveLength(0)
})

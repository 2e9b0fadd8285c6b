import { afterAll, expect, test } from 'vitest'
import type { SlackAction } from '../../core/action/action.ts'
import { HttpClient } from '../../outgoing/http-client.ts'
import { createSlackExecutor } from './slack.ts'
import { anAttempt, closedPort, httpServer } from './test-support.ts'

const client = new HttpClient({ allowPrivate: true })
const { execute } = createSlackExecutor({ client, userAgent: 'belfry/1.2.3' })
afterAll(() => client.close())

/** Something that answers as Slack does. */
const slack = (status: number, body: string, headers: Record<string, string> = {}) =>
  httpServer((_request, response) => response.writeHead(status, headers).end(body))
const message = (url: string, more: Partial<SlackAction> = {}): SlackAction => ({
  type: 'slack',
  url,
  text: 'hello',
  ...more,
})

test('text and blocks are posted as JSON with the id of the run and without a signature', async () => {
  const received: unknown[] = []
  const { url } = await httpServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ method: request.method, headers: request.headers, body: JSON.parse(body) })
    response.end('ok')
  })
  const blocks = [{ type: 'section', text: { type: 'mrkdwn', text: '*hello*' } }]

  const outcomes = [
    await execute(message(url), anAttempt()),
    await execute(message(url, { blocks }), anAttempt()),
  ]

  expect(outcomes).toMatchObject([
    { kind: 'completed', output: { status: 200, body: 'ok' } },
    { kind: 'completed' },
  ])
  expect(received).toMatchObject([
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': anAttempt().runId },
      body: { text: 'hello' },
    },
    { body: { text: 'hello', blocks } },
  ])
  expect(JSON.stringify(received)).not.toContain('webhook-signature')
})

test('the Retry-After of a rate limit is respected', async () => {
  const { url } = await slack(429, 'rate_limited', { 'retry-after': '30' })

  expect(await execute(message(url), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    retryAfterMs: 30_000,
    error: { code: 'slack_refused', detail: { status: 429, error: 'rate_limited' } },
  })
})

test.each([
  [400, 'invalid_payload', 'the message is not valid'],
  [400, 'user_not_found', 'the user does not exist'],
  [400, 'no_text', 'the message has no text'],
  [403, 'action_prohibited', 'a Slack admin has disallowed this'],
  [403, 'invalid_token', 'the webhook URL is no longer valid'],
  [404, 'channel_not_found', 'the channel does not exist'],
  [404, 'no_service', 'the webhook was removed or disabled'],
  [404, 'no_team', 'the workspace no longer exists'],
  [410, 'channel_is_archived', 'the channel is archived'],
  [500, 'missing_text_or_fallback_or_attachments', 'the message has no text'],
  [200, 'invalid_payload', 'the message is not valid'],
])('%i %s is not retried', async (status, word, means) => {
  const { url } = await slack(status, `${word}\n`)

  expect(await execute(message(url), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: {
      message: `HTTP ${status} from ${new URL(url).host}: ${word}, ${means}`,
      detail: { error: word },
    },
  })
})

test.each([
  [500, 'rollup_error', true],
  [503, 'upstream connect error', true],
  [418, 'something_new', false],
  [200, '{"ok":false,"error":"invalid_blocks"}', false],
])('the unknown error %i %s is retried only with a 5xx status', async (status, body, retryable) => {
  const { url } = await slack(status, body)

  expect(await execute(message(url), anAttempt())).toMatchObject({ kind: 'failed', retryable })
})

test.each(['ok', '{"ok":true}', '', 'posted'])('200 with %j is a success', async (body) => {
  const { url } = await slack(200, body)

  expect(await execute(message(url), anAttempt())).toMatchObject({ kind: 'completed' })
})

test('a refused connection is retried', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/`

  expect(await execute(message(url), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'connect_refused' },
  })
})

/** What every part needs: something that exists, and requests whose refusal is held to what each refusal owes. */
import { afterAll, expect } from 'vitest'
import type { Database } from '../../../src/store/database/database.ts'
import { action } from '../bad-fields.ts'
import { createTestApp, type InjectedAnswer, storedIn } from '../test-app.ts'

/** What `startRefusals` makes. */
export type Refusals = Awaited<ReturnType<typeof startRefusals>>

export async function startRefusals(database: { db: Database }) {
  const { send } = await createTestApp(database)
  const { body: existing } = await send('POST', '/v1/tasks', {
    action,
    key: 'existing',
    schedule: { type: 'every', interval: '1h' },
  })
  const { body: run } = await send('POST', `/v1/tasks/${existing.id}/trigger`)
  const { body: worker } = await send('POST', '/v1/worker/register', { handlers: ['greet'] })
  const before = await storedIn(database.db)
  afterAll(async () => expect(await storedIn(database.db)).toBe(before))

  /** Sends a bad request and holds the answer to what every refusal owes. */
  async function refused(
    method: string,
    url: string,
    body: unknown,
    headers: Record<string, string> = {},
    status = 422,
  ): Promise<InjectedAnswer> {
    // Workers prove who they are before their bodies are read.
    const token = url.startsWith('/v1/worker/') ? { authorization: `Bearer ${worker.token}` } : {}
    const startedAt = performance.now()
    const answer = await send(method, url, body, { ...token, ...headers })
    expect(performance.now() - startedAt).toBeLessThan(MOST_MS)
    expectProblem(answer, status)
    expect(await storedIn(database.db)).toBe(before)
    return answer
  }
  return { send, refused, existing, run }
}

/** Longer than any refusal takes on a busy machine, and far less than what hostile input would take unbounded. */
const MOST_MS = 10_000

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

/** A project has no more of anything than its limit, whoever adds some at the same time. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })
/** What is left to add, and how many requests try to at once. */
const LEFT = 2
const AT_ONCE = 12

const blackouts = (count: number) => sql`
  insert into blackout (id, project_id, name, effect, rule)
  select gen_random_uuid(), ${DEFAULT_PROJECT_ID}, 'filler', 'skip', '{"type":"range","from":"2030-01-01T00:00:00Z","to":"2030-01-02T00:00:00Z"}'
  from generate_series(1, ${count}::integer)`
const subscriptions = (count: number) => sql`
  insert into subscription (id, project_id, url, give_up_after_ms, secret, position)
  select gen_random_uuid(), ${DEFAULT_PROJECT_ID}, 'https://example.com/', 1000, 'x', '0' from generate_series(1, ${count}::integer)`
const secrets = (count: number) => sql`
  insert into secret (project_id, name) select ${DEFAULT_PROJECT_ID}, 'FILLER_' || i from generate_series(1, ${count}::integer) i`
const targets = (count: number) => sql`
  insert into target_setting (project_id, pattern, call_limit)
  select ${DEFAULT_PROJECT_ID}, 'https://filler-' || i || '.example.com:443', 1 from generate_series(1, ${count}::integer) i`

const window = { type: 'range', from: '2040-01-01T00:00:00Z', to: '2040-01-02T00:00:00Z' }

test.each([
  ['blackouts', 100, blackouts, () => send('POST', '/v1/blackouts', { name: 'more', window })],
  [
    'subscriptions',
    100,
    subscriptions,
    () => send('POST', '/v1/subscriptions', { url: 'https://a.example/' }),
  ],
  ['secrets', 1_000, secrets, (i: number) => send('PUT', `/v1/secrets/MORE_${i}`, { value: 'value' })],
  [
    'target settings',
    1_000,
    targets,
    (i: number) =>
      send('PATCH', `/v1/targets/${encodeURIComponent(`https://more-${i}.example.com`)}`, { limit: 3 }),
  ],
] as const)('concurrent requests never exceed the limit of %s: %i', async (_, limit, fill, add) => {
  await db.run(fill(limit - LEFT))

  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => add(i)))

  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status < 300)).toHaveLength(LEFT)
  expect(statuses.filter((status) => status === 409)).toHaveLength(AT_ONCE - LEFT)
})

/** What stands between Belfry and PostgreSQL is noticed before anything depends on it, and told with what to do. */
import { expect, test } from 'vitest'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { ask } from '../checker/observe.ts'
import { createTestDatabase, withDatabase } from '../support/database.ts'
import { leftBehind, startPgBouncer } from '../support/pgbouncer.ts'
import { runBelfry, startBelfry } from '../support/process.ts'

const TRANSACTIONS = ['--database-pooling', 'transaction']

interface Finding {
  readonly check: string
  readonly status: string
  readonly text: string
}

async function examine(
  args: readonly string[],
): Promise<{ code: number | null; found: Map<string, Finding> }> {
  const { code, stdout } = await runBelfry(['doctor', '--json', '--port', '0', ...args])
  const findings: Finding[] = JSON.parse(stdout)
  return { code, found: new Map(findings.map((finding) => [finding.check, finding])) }
}

test('a transaction pooler is refused without --database-pooling, and its sessions stay clean', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url)

  for (const command of ['start', 'migrate']) {
    const { code, stderr } = await runBelfry([command, '--database-url', pooler.url])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: The pooler at 127\.0\.0\.1:\d+\/\w+ is in transaction mode/)
    expect(stderr).toContain(
      'try:   Start with --database-pooling transaction, or connect to PostgreSQL directly',
    )
  }
  const { code, found } = await examine(['--database-url', pooler.url])
  expect(code).toBe(1)
  expect(found.get('pooling')).toMatchObject({
    status: 'problem',
    text: expect.stringContaining('--database-pooling'),
  })

  expect(await leftBehind(pooler.url)).toEqual([])
})

test('a statement pooler is refused with any setting', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url, { poolMode: 'statement' })

  for (const flags of [[], TRANSACTIONS]) {
    const { code, stderr } = await runBelfry(['start', '--port', '0', '--database-url', pooler.url, ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain('is in statement mode, which does not support transactions.')
  }
})

test('a session pooler works like a direct connection, including wake-ups', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url, { poolMode: 'session', poolSize: 60 })

  const { code, found } = await examine(['--database-url', pooler.url])
  const belfry = await startBelfry(['--database-url', pooler.url])

  expect(code).toBe(0)
  expect(found.get('pooling')).toMatchObject({ status: 'ok', text: 'through a pooler in session mode' })
  expect(found.get('wake-ups')).toMatchObject({ status: 'ok' })
  expect(belfry.stdout).toContain('through a pooler in session mode')
  const { status } = await belfry.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } })
  expect(status).toBe(201)
})

test('a session that a pooler passes on without a reset works', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url, { poolMode: 'session', poolSize: 1, resets: false })

  for (const number of [1, 2]) {
    const options = { applicationName: 'belfry test', maxConnections: 1, statementTimeoutMs: 5_000 }
    const database = new Database({ ...options, url: pooler.url, keepPlans: true })
    expect(await database.run(sql`select ${number}::integer as number`)).toEqual([{ number }])
    await database.close()
  }
})

test('doctor and start report what a transaction pooler means for wake-ups', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url)
  const through = ['--database-url', pooler.url, ...TRANSACTIONS]

  const alone = await examine(through)
  const past = await examine([...through, '--database-direct-url', url])
  expect(alone.code).toBe(0)
  expect(alone.found.get('pooling')).toMatchObject({
    status: 'ok',
    text: 'through a pooler in transaction mode',
  })
  expect(alone.found.get('wake-ups')).toMatchObject({
    status: 'note',
    text: expect.stringContaining('within 200 ms'),
  })
  expect(past.code).toBe(0)
  expect(past.found.get('wake-ups')).toMatchObject({
    status: 'ok',
    text: expect.stringMatching(/heard .* after \d+ ms/),
  })

  const belfry = await startBelfry([...through, '--database-direct-url', url])
  expect(belfry.stdout).toMatch(/wake-ups {3}heard at .*, after \d+ ms/)
})

test('a direct URL at which wake-ups never arrive is refused', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url)
  const through = ['--database-url', pooler.url, ...TRANSACTIONS]

  for (const deaf of [pooler.url, withDatabase(url, 'postgres')]) {
    const { code, stderr } = await runBelfry([
      'start',
      '--port',
      '0',
      ...through,
      '--database-direct-url',
      deaf,
    ])
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /error: Notifications sent through --database-url do not arrive at --database-direct-url/,
    )
    expect(stderr).toContain('try:   Both must name the same database')
  }
})

test('a node starts although its direct URL is unreachable', async () => {
  const { url } = await createTestDatabase()
  const pooler = await startPgBouncer(url)

  const belfry = await startBelfry([
    ...['--database-url', pooler.url, ...TRANSACTIONS],
    ...['--database-direct-url', 'postgresql://belfry@127.0.0.1:1/belfry'],
  ])

  expect(belfry.stdout).toContain('wake-ups   not received at 127.0.0.1:1/belfry yet')
})

test('migrate works through a transaction pooler, even when several run at once', async () => {
  const { url } = await createTestDatabase({ empty: true })
  const pooler = await startPgBouncer(url)
  const flags = ['--database-url', pooler.url, ...TRANSACTIONS]

  const exits = await Promise.all([1, 2, 3].map(() => runBelfry(['migrate', ...flags])))
  const again = await runBelfry(['migrate', ...flags])

  expect(exits.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(exits.filter(({ stdout }) => stdout.includes('applied 0001')).length).toBe(1)
  expect(again.stdout).toMatch(/^Up to date: \d+ migrations\.\n$/)
  expect(await ask(url, 'select count(*)::int as shards from shard')).toEqual([{ shards: 64 }])
  expect(await leftBehind(pooler.url)).toEqual([])
})

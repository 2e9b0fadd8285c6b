import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase, withDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, runBelfry, startBelfry } from '../support/process.ts'

const SECRET = 'hunter2'
/** Far longer than anything here takes. */
const SELDOM_MS = 60_000
const database = await createTestDatabase({ empty: true })

/** Accepts connections and never says a word. */
async function aSilentServer(): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const withPassword = (url: string, password: string) =>
  url.replace(/^(\w+:\/\/[^:@/]*)(:[^@]*)?@/, `$1:${password}@`)

describe('an unusable database is reported without its password', () => {
  const start = (url: string) => runBelfry(['start', '--port', '0', '--database-url', url])

  test('if the connection is refused', async () => {
    const exit = await start(`postgresql://belfry:${SECRET}@127.0.0.1:1/belfry`)

    expect(exit.code).toBe(6)
    expect(exit.stderr).toMatch(
      /^error: Cannot connect to 127\.0\.0\.1:1\/belfry \(connect ECONNREFUSED .*\)\.\ntry: /,
    )
    expect(exit.stdout + exit.stderr).not.toContain(SECRET)
  })

  test('if the database never answers', async () => {
    const exit = await start(`postgresql://belfry:${SECRET}@127.0.0.1:${await aSilentServer()}/belfry`)

    expect(exit.code).toBe(6)
    expect(exit.stderr).toContain('Cannot connect to 127.0.0.1')
    expect(exit.stdout + exit.stderr).not.toContain(SECRET)
    expect(exit.tookMs).toBeLessThan(60_000)
    process.stdout.write(`  given up on a silent database after ${exit.tookMs} ms\n`)
  })

  test('if its host name does not resolve', async () => {
    const exit = await start(`postgresql://belfry:${SECRET}@db.invalid/belfry`)

    expect(exit.code).toBe(6)
    expect(exit.stderr).toContain('error: Cannot connect to db.invalid/belfry (')
    expect(exit.stdout + exit.stderr).not.toContain(SECRET)
  })

  test('if the database does not exist', async () => {
    const exit = await start(withDatabase(inject('postgresUrl'), 'nowhere'))

    expect(exit.code).toBe(6)
    expect(exit.stderr).toContain(' does not exist.')
    expect(exit.stderr).toContain('try:   Create it (createdb)')
  })

  test('if the password is wrong', async () => {
    const exit = await start(withPassword(database.url, SECRET))

    expect(exit.code).toBe(4)
    expect(exit.stderr).toContain('rejects this user: password authentication failed for user')
    expect(exit.stdout + exit.stderr).not.toContain(SECRET)
  })
})

test('migrate creates the schema in an empty database, and changes nothing the second time', async () => {
  const { url } = await createTestDatabase({ empty: true })

  const first = await runBelfry(['migrate', '--database-url', url])
  const second = await runBelfry(['migrate', '--database-url', url])

  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('applied 0001 create_tasks\n') })
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Up to date: \d+ migrations\.\n$/) })
})

test('flags override variables, and variables override the configuration file', async () => {
  const cwd = aDirectory()
  writeFileSync(
    join(cwd, 'belfry.toml'),
    `database_url = "${database.url}"\nconcurrency = 7\nlog_level = "warn"\nport = 0\n`,
  )
  const placesWith = async (args: string[], env: Record<string, string>) => {
    const belfry = await startBelfry(args, { cwd, env })
    belfry.kill('SIGTERM')
    expect(await belfry.exited).toMatchObject({ code: 0, stderr: '' })
    return /worker \((\d+) at once\)/.exec(belfry.stdout)?.[1]
  }

  expect(await placesWith([], {})).toBe('7')
  expect(await placesWith([], { BELFRY_CONCURRENCY: '8' })).toBe('8')
  expect(await placesWith(['--concurrency', '9'], { BELFRY_CONCURRENCY: '8' })).toBe('9')
})

test('an unknown key in the configuration file prevents the start', async () => {
  const cwd = aDirectory()
  writeFileSync(join(cwd, 'belfry.toml'), 'prot = 1\n')

  const { code, stderr } = await runBelfry(['start'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain("belfry.toml: 'prot' is not a setting. Did you mean 'port'?")
})

test('nodes with different roles work together on one database without waiting for polls', async () => {
  const { url } = await createTestDatabase()
  const api = await startBelfry(['--database-url', url, '--roles', 'api'])
  const { body: waiting } = await api.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
  })
  const runOf = async (taskId: string) =>
    (await api.request('GET', `/v1/tasks/${taskId}/runs`)).body.items.find(
      (run: { endedAt: string | null }) => run.endedAt !== null,
    )
  expect(await runOf(waiting.id)).toBeUndefined()

  // Unasked they look only now and then: what is created later starts soon because they are told of it.
  const worker = await startBelfry([
    ...['--database-url', url, '--roles', 'scheduler,worker,liveness'],
    ...['--look-every-ms', String(SELDOM_MS), '--look-ahead-ms', String(3 * SELDOM_MS)],
    ...['--claim-every-ms', String(SELDOM_MS)],
  ])
  await eventually(() => runOf(waiting.id))
  const { body: task } = await api.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } })
  const run = await eventually(() => runOf(task.id))

  const { database } = (await api.request('GET', '/v1/server')).body
  const [, name] = /\/([^/?@]+)(?:\?|$)/.exec(url) ?? []
  expect(database).toMatchObject({ isEmbedded: false, place: expect.stringMatching(`/${name}$`) })
  expect(database.place).not.toContain('@')
  expect(api.stdout).toContain('✓ roles      api\n')
  expect(worker.url).toBe('')
  expect(worker.stdout).toMatch(/Ready\.\n/)
  const startedAfterMs = Date.parse(run.startedAt) - Date.parse(task.createdAt)
  process.stdout.write(`  created on one node, started on another after ${startedAfterMs} ms\n`)
  expect(startedAfterMs).toBeLessThan(SELDOM_MS)
})

/** Keys on the command line: the first one, before and while a node runs, and managing the others through the API. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aDirectory, runBelfry, startBelfry } from '../support/process.ts'

const dataDir = join(aDirectory(), 'data')
const here = ['--data-dir', dataDir]

test('with a misnamed variable, no key is created in the database of this machine', async () => {
  const [server, key] = await Promise.all(
    ['BELFRY_SERVER', 'BELFRY_API_KEY'].map((name) =>
      runBelfry(['key', 'create', '--role', 'admin'], {
        env: { HOME: aDirectory(), [name]: 'https://belfry.example.com' },
      }),
    ),
  )

  expect(server).toMatchObject({ code: 2, stderr: expect.stringContaining('Set BELFRY_URL instead') })
  expect(key).toMatchObject({ code: 2, stderr: expect.stringContaining('Set BELFRY_KEY instead') })
})

test('a server beyond loopback needs an API key, and the error names the command that creates one', async () => {
  const refused = await runBelfry(['start', '--host', '0.0.0.0', '--port', '0', ...here])
  const wrong = await runBelfry(['key', 'create', '--role', 'boss', ...here])
  const both = await runBelfry([
    'key',
    'create',
    '--role',
    'admin',
    '--server',
    'http://127.0.0.1:1',
    ...here,
  ])
  const behind = await runBelfry([
    'start',
    '--public-url',
    'https://belfry.example.com',
    '--port',
    '0',
    ...here,
  ])
  const tooWeak = await runBelfry(['key', 'create', '--role', 'viewer', ...here])
  const created = await runBelfry(['key', 'create', '--role', 'admin', ...here])
  const key = /key +(bf_\w+) /.exec(created.stdout)?.[1] ?? ''
  const belfry = await startBelfry(['--host', '0.0.0.0', ...here])
  const url = belfry.url.replace('0.0.0.0', '127.0.0.1')
  const client = { env: { BELFRY_URL: url, BELFRY_KEY: key } }
  const anonymous = await runBelfry(['task', 'list'], { env: { BELFRY_URL: url } })

  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('does not listen on 0.0.0.0 without a valid admin key of the installation')
  expect(refused.stderr).toContain(`belfry key create --role admin --data-dir ${dataDir}`)
  expect(behind.code).toBe(2)
  expect(behind.stderr).toContain(
    'behind a proxy (--public-url https://belfry.example.com) without a valid admin key of the installation',
  )
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toContain('--role: must be one of viewer, operator, editor, admin, worker')
  expect(both).toMatchObject({ code: 2 })
  expect(tooWeak).toMatchObject({ code: 5, stdout: '' })
  expect(tooWeak.stderr).toContain(
    `Create it first: belfry key create --role admin --data-dir ${dataDir}. If the server has a BELFRY_ADMIN_KEY, set it for this command too.`,
  )
  expect(created.code).toBe(0)
  expect(belfry.stdout).toContain('Ready. API key required.')
  expect(anonymous.code).toBe(4)
  expect(anonymous.stderr).toContain(
    'try:   Log in with belfry login, or pass an API key with --api-key or BELFRY_KEY.',
  )

  const beside = await runBelfry(['key', 'create', '--role', 'viewer', '--name', 'look', '--json', ...here])
  const remote = await runBelfry(
    ['key', 'create', '--role', 'editor', '--project', 'default', '--field', 'key'],
    client,
  )
  const rotated = await runBelfry(['key', 'rotate', 'look', '--overlap', '0s'], client)
  const asked = await runBelfry(['key', 'revoke', 'look'], client)
  const revoked = await runBelfry(['key', 'revoke', 'look', '--yes'], client)
  const listed = await runBelfry(['key', 'list', '--json'], client)
  const shown = await runBelfry(['key', 'show', 'editor'], client)

  expect(JSON.parse(beside.stdout).key).toMatch(/^bf_/)
  expect(remote.stdout).toMatch(/^bf_\w+\n$/)
  expect(rotated.stdout).toContain('✓ API key look rotated')
  expect(asked).toMatchObject({ code: 2 })
  expect(revoked.stdout).toMatch(/✓ API key look \(bf_\w{5}…\) revoked/)
  const keys: { name: string; state: string; project: string | null }[] = JSON.parse(listed.stdout)
  expect(keys.map(({ name, state, project }) => [name, state, project])).toEqual([
    ['look', 'revoked', null],
    ['editor', 'active', 'default'],
    ['look', 'expired', null],
    ['admin', 'active', null],
  ])
  expect(shown.stdout).toMatch(/role +editor\n/)
})

/** Profiles, and who one is, on the command line: the real program against a real server. */
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, runBelfry } from '../support/process.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-of-enough-characters'
const node = await startTestNode(await createTestDatabase(), { roles: 'api', adminKey: ADMIN_KEY })
const home = aDirectory()
const config = join(home, 'config')
const env = { HOME: home, XDG_CONFIG_HOME: config }
const file = join(config, 'belfry', 'profiles.json')
const belfry = (...args: string[]) => runBelfry(args, { env })
/** With the key on standard input. */
const logIn = (key: string, ...args: string[]) =>
  runBelfry(['login', '--key-stdin', ...args], {
    env: { ...env, KEY: key },
    prefix: ['sh', '-c', 'printf "%s\\n" "$KEY" | "$@"', 'sh'],
  })

test('a login stores a valid key that only its owner can read, and other commands use it', async () => {
  const wrong = await logIn('bf_wrong', '--server', node.url)
  const [noTerminal, nobody] = await Promise.all([
    belfry('login', '--server', node.url),
    belfry('member', 'list', '--server', node.url),
  ])
  const done = await logIn(ADMIN_KEY, '--server', node.url)
  const [who, added] = [
    await belfry('whoami'),
    await belfry('member', 'add', '--group', 'dev', '--role', 'editor'),
  ]
  const elsewhere = await belfry('whoami', '--server', `${node.url.replace('127.0.0.1', 'localhost')}`)

  expect(wrong).toMatchObject({ code: 4, stderr: expect.stringContaining('Nothing was stored.') })
  expect(noTerminal).toMatchObject({ code: 2, stderr: expect.stringContaining('--key-stdin') })
  expect(nobody).toMatchObject({ code: 4, stderr: expect.stringContaining('belfry login') })
  expect(done.stdout).toContain(`✓ logged in to ${node.url} as API key BELFRY_ADMIN_KEY\n`)
  expect(done.stdout + done.stderr).not.toContain(ADMIN_KEY)
  expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700])
  expect(JSON.parse(readFileSync(file, 'utf8')).profiles).toEqual({
    default: { server: node.url, key: ADMIN_KEY },
  })
  expect(who.stdout).toMatch(/you are {2}API key BELFRY_ADMIN_KEY\n {2}role +admin of all projects\n/)
  expect(added.stdout).toBe('✓ dev has the role editor in the project\n')
  // Another name is another server, as far as the command can know.
  expect(elsewhere.code).toBe(4)
})

test('a login refuses a misnamed variable for the server instead of sending the key elsewhere', async () => {
  const misnamed = { ...env, BELFRY_SERVER: node.url, KEY: ADMIN_KEY }
  const prefix = ['sh', '-c', 'printf "%s\\n" "$KEY" | "$@"', 'sh']
  const logInThere = (...args: string[]) =>
    runBelfry(['login', '--key-stdin', ...args], { env: misnamed, prefix })

  const [unnamed, unknown, decided] = await Promise.all([
    logInThere(),
    logInThere('--profile', 'not-yet-known'),
    logInThere('--profile', 'decided', '--server', node.url),
  ])

  expect([unnamed, unknown]).toMatchObject([
    { code: 2, stderr: expect.stringContaining('Set BELFRY_URL instead, and unset BELFRY_SERVER.') },
    { code: 2 },
  ])
  expect(decided.code).toBe(0)
})

test('profiles are named, selected by flag or variable, and removed', async () => {
  await logIn(ADMIN_KEY, '--server', node.url, '--profile', 'staging')
  const chosen = await runBelfry(['whoami', '--field', 'name'], {
    env: { ...env, BELFRY_PROFILE: 'staging' },
  })
  const out = await belfry('logout', '--profile', 'staging')
  const [again, gone] = await Promise.all([
    belfry('logout', '--profile', 'staging'),
    belfry('whoami', '--profile', 'staging'),
  ])

  expect(chosen.stdout).toBe('BELFRY_ADMIN_KEY\n')
  expect(out.stdout).toContain(`✓ logged out of ${node.url} (profile staging)`)
  expect([again.code, gone.code]).toEqual([3, 3])
  expect(gone.stderr).toContain('belfry login --profile staging')
})

test('a key file that other users can read is not used', async () => {
  await logIn(ADMIN_KEY, '--server', node.url)
  chmodSync(file, 0o644)
  const refused = await belfry('whoami')
  const stillWorks = await belfry('whoami', '--server', node.url, '--api-key', ADMIN_KEY)
  chmodSync(file, 0o600)

  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining(`chmod 600 ${file}`) })
  expect(refused.stderr).not.toContain(ADMIN_KEY)
  expect(stillWorks.code).toBe(0)
})

test('members are added, listed and removed', async () => {
  await logIn(ADMIN_KEY, '--server', node.url)
  await belfry('member', 'add', '--group', 'dev', '--role', 'editor')
  const person = await belfry('member', 'add', 'Ada@example.com', '--role', 'viewer')
  const [listed, both, wrong, installed] = [
    await belfry('members', 'ls'),
    await belfry('member', 'add', 'ada@example.com', '--group', 'dev', '--role', 'viewer'),
    await belfry('member', 'add', 'ada@example.com', '--role', 'king'),
    await belfry('member', 'add', '--group', 'ops', '--role', 'admin', '--installation'),
  ]
  const [unasked, removed, none, of] = [
    await belfry('member', 'remove', 'dev'),
    await belfry('member', 'remove', 'dev', '--yes'),
    await belfry('member', 'rm', 'dev', '--yes'),
    await belfry('member', 'list', '--installation', '--field', 'group'),
  ]

  expect(person.stdout).toBe('✓ ada@example.com has the role viewer in the project\n')
  expect(listed.stdout).toMatch(
    /^MEMBER +KIND +ROLE +ADDED +BY\nada@example.com +person +viewer .*\ndev +group +editor /,
  )
  expect([both.code, wrong.code, unasked.code, none.code]).toEqual([2, 2, 2, 3])
  expect(wrong.stderr).toContain('--role: ')
  expect(installed.stdout).toBe('✓ ops has the role admin in every project\n')
  expect(removed.stdout).toBe('✓ member dev removed\n')
  expect(of.stdout).toBe('ops\n')
})

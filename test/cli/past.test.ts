/** What a task was, what it left undone and why, on the command line. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { runBelfry } from '../support/process.ts'

const node = await startTestNode(await createTestDatabase())
const belfry = (...args: string[]) => runBelfry(args, { env: { BELFRY_URL: node.url } })
const create = async (name: string) =>
  (
    await node.request('POST', '/v1/tasks', {
      name,
      action: { type: 'sleep', duration: '0s' },
      schedule: { type: 'daily', hour: 9, minute: 0, timezone: 'UTC' },
      overlap: 'allow',
    })
  ).body

test('versions are listed with their changes, and an earlier one is restored', async () => {
  await create('past')
  await belfry('task', 'edit', 'past', '--timeout', '5m')

  const listed = await belfry('task', 'versions', 'past')
  const one = await belfry('task', 'versions', 'past', '1', '--field', 'definition.timeout')
  const back = await belfry('task', 'rollback', 'past', '1', '--reason', 'too short')
  const again = await belfry('task', 'rollback', 'past', '9')
  const [latest] = JSON.parse((await belfry('task', 'versions', 'past', '--json')).stdout)

  expect(listed.stdout).toMatch(/^version 2 .* current\n {2}timeout: 20m → 5m\nversion 1 /)
  expect(one.stdout).toBe('20m\n')
  expect(back.stdout).toBe('✓ task past is now version 3, restored from version 1\n')
  expect(again).toMatchObject({ code: 2 })
  expect(again.stderr).toContain('the task has versions 1 to 3')
  expect(latest).toMatchObject({ version: 3, rollbackOf: 1, reason: 'too short' })
})

test('the differences between any two versions are shown', async () => {
  await create('differing')
  await belfry('task', 'edit', 'differing', '--timeout', '5m', '--owner', 'ops')

  const [toNow, same, bare, missing] = await Promise.all([
    belfry('task', 'diff', 'differing', '1'),
    belfry('task', 'diff', 'differing', '2', '2'),
    belfry('task', 'diff', 'differing', '2', '1', '--field', 'field'),
    belfry('task', 'diff', 'differing', '7'),
  ])

  expect(toNow.stdout).toMatch(/^task differing, version 1 to 2\n/)
  expect(toNow.stdout).toContain('\ntimeout\n  - 20m\n  + 5m\n')
  expect(toNow.stdout).toContain('\nowner\n  + ops\n')
  expect(same.stdout).toBe('task differing, version 2 to 2: no differences\n')
  expect(bare.stdout.trim().split('\n').sort()).toEqual(['owner', 'timeout'])
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('version') })
})

test('task why reports that a task is paused, and its ledger is in order', async () => {
  await belfry('task', 'create', 'hello', '--every', '1h', '--action', 'sleep:0s', '--paused')

  const why = await belfry('task', 'why', 'hello')
  const code = await belfry('task', 'why', 'hello', '--field', 'code')
  const before = await belfry('task', 'why', 'hello', '--at', '2020-01-01T00:00:00Z')
  const ledger = await belfry('task', 'ledger', 'hello', '--since', '5m')
  const wrong = await belfry('task', 'ledger', 'hello', '--since', 'soon')

  expect(why).toMatchObject({ code: 0, stderr: '' })
  expect(why.stdout).toMatch(
    /^paused: The task has been paused since .*\n {2}try: To resume it: belfry task resume/,
  )
  expect(code.stdout).toBe('paused\n')
  expect(before.stdout).toMatch(/^not_created: /)
  expect(ledger).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything is accounted for.') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') })
})

test('a backfill is counted by a dry run, started, and awaited', async () => {
  await create('filled')
  const range = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-04T00:00:00Z']

  const dry = await belfry('task', 'backfill', 'filled', ...range, '--dry-run')
  const done = await belfry('task', 'backfill', 'filled', ...range, '--wait')
  const nothing = await belfry('task', 'backfill', 'filled', ...range, '--dry-run', '--field', 'runs')
  const oneDay = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z', '--dry-run']
  const again = await belfry('task', 'backfill', 'filled', ...oneDay)
  const wrong = await belfry('task', 'backfill', 'filled', ...range, '--rate', '10/d')

  expect(dry.stdout).toBe(
    '3 runs for 3 occurrences\n  2026-01-01T09:00:00.000Z\n  2026-01-02T09:00:00.000Z\n  2026-01-03T09:00:00.000Z\n',
  )
  expect(done.stdout).toMatch(
    /^✓ task filled: backfill completed; 3 runs, 3 completed, 0 failed, 0 cancelled\n/,
  )
  expect(done.stderr).toMatch(/^0 of 3 occurrences\n/)
  expect(done.code).toBe(0)
  expect(nothing.stdout).toBe('0\n')
  expect(again.stdout).toBe('0 runs for 1 occurrence; no run needed for 1\n')
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('10/s, 100/m or 1000/h')
})

/** What those who run a project do on the command line: the real program against a real server. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { launch, runBelfry } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { startSink } from '../support/sink.ts'

const node = await startTestNode(await createTestDatabase())
const belfry = (...args: string[]) => runBelfry(args, { env: { BELFRY_URL: node.url } })
const create = async (task: object) =>
  (await node.request('POST', '/v1/tasks', { schedule: { type: 'manual' }, ...task })).body
const trigger = (id: string) => node.request('POST', `/v1/tasks/${id}/trigger`)

test('blackouts are added in three ways, listed, and removed by name', async () => {
  const none = await belfry('blackout', 'list')
  const year = ['--from', '2026-01-01T00:00:00Z', '--to', '2099-01-01T00:00:00Z']
  const [range, weekly, cron] = await Promise.all([
    belfry('blackout', 'add', 'freeze', ...year),
    belfry(
      ...['blackout', 'add', 'nights', '--days', 'Mon,fri', '--from', '22:00', '--to', '06:00'],
      ...['--timezone', 'Europe/Vienna', '--field', 'window'],
    ),
    belfry(
      ...['blackout', 'add', 'deploys', '--cron', '0 14 * * TUE', '--duration', '90m', '--effect', 'defer'],
    ),
  ])
  const [listed, nothing, wrong, removed] = [
    await belfry('blackouts', 'ls'),
    await belfry('blackout', 'add', 'never'),
    await belfry('blackout', 'add', 'odd', '--days', 'someday', '--from', '25:00', '--to', '06:00'),
    await belfry('blackout', 'remove', 'freeze'),
  ]
  const gone = await belfry('blackout', 'rm', 'freeze')

  expect(none).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('try:   belfry blackout'),
  })
  expect(range.stdout).toMatch(/^✓ blackout freeze {2}2026-01-01.* to 2099-01-01.*; holds now\n {2}id {2}/)
  expect(JSON.parse(weekly.stdout)).toEqual({
    type: 'weekly',
    days: ['mon', 'fri'],
    from: '22:00',
    to: '06:00',
    timezone: 'Europe/Vienna',
  })
  expect(cron.stdout).toMatch(/^✓ blackout deploys {2}90m from 0 14 \* \* TUE \(.*\); next Tue /)
  expect(listed.stdout).toMatch(/^NAME +WINDOW +EFFECT +NOW +NEXT +ID\n/)
  expect(listed.stdout).toMatch(/deploys .* defer {3}– /)
  expect(nothing).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --from and --to, with --days'),
  })
  expect(wrong.code).toBe(2)
  for (const flag of ['--days', '--from']) expect(wrong.stderr).toContain(`${flag}: `)
  expect(removed.stdout).toBe('✓ blackout freeze is removed\n')
  expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining('belfry blackout list') })
})

test('limits of the project are set, shown, and taken away', async () => {
  const set = await belfry('project', 'limit', '--min-period', '1m', '--max-ahead', '30d')
  const refused = await belfry('task', 'create', 'quick', '--every', '1s', '--action', 'sleep:0s')
  const wrong = await belfry('project', 'limit', '--min-period', 'often')
  const nothing = await belfry('project', 'limit')
  await belfry('project', 'limit', '--min-period', '', '--max-ahead', '')
  const shown = await belfry('project', 'show', '--json')

  expect(set.stdout).toMatch(
    /^✓ project default\n {2}min period {2}tasks may be due every 1m .*\n.* within 30d\n$/,
  )
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--every: ') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--min-period: ') })
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('--min-period 1m') })
  expect(JSON.parse(shown.stdout).limits).toMatchObject({ maxAhead: null })
})

test('dead letters are listed by what went wrong, run again at a rate, and dismissed', async () => {
  let status = 500
  const sink = await startSink(() => ({ status }))
  const { id } = await create({
    name: 'broken',
    action: { type: 'ping', url: sink.url },
    retry: { limit: 0 },
    overlap: 'allow',
  })
  await Promise.all([trigger(id), trigger(id)])
  await eventually(async () => (await node.request('GET', '/v1/dead-letters')).body.items.length === 2, {
    withinMs: 60_000,
  })

  const listed = await belfry('dead-letter', 'list', '--since', '1h')
  const [{ key }] = JSON.parse((await belfry('dead-letters', 'ls', '--json')).stdout)
  const dry = await belfry('dead-letter', 'redrive', '--fingerprint', key, '--dry-run')
  const unasked = await belfry('dead-letter', 'redrive')
  const wrong = await belfry('dead-letter', 'redrive', '--task', 'broken', '--rate', '1000')
  status = 200
  const done = await belfry('dead-letter', 'redrive', '--task', 'broken', '--rate', '50/s', '--wait')
  const dismissed = await belfry('dead-letter', 'dismiss', '--yes', '--field', 'count')

  expect(listed.stdout).toMatch(/^RUNS {2}TASKS {3}WHAT .* FINGERPRINT\n2 {5}broken {2}.*[0-9a-f]{16}\n$/)
  expect(dry.stdout).toBe('2 dead letters would be run again\n')
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes to do it.') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--rate: ') })
  expect(done).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('completed: 2 run again, 0 refused'),
  })
  await eventually(async () => sink.hits.length === 4)
  expect(dismissed.stdout).toBe('0\n')
})

test('an address is subscribed to what ends, told of it, and told no more', async () => {
  const sink = await startSink()
  const { id } = await create({ name: 'watched', action: { type: 'sleep', duration: '0s' } })

  const created = await belfry(
    ...['subscription', 'create', sink.url, '--name', 'alerts', '--task', 'watched', '--state', 'completed'],
  )
  await trigger(id)
  await eventually(async () => sink.hits.length > 0)
  const listed = await belfry('subscription', 'list')
  const wrong = await belfry('subscription', 'create', 'ftp://x', '--batch-size', '0')
  const tested = await belfry('subscription', 'test', 'alerts')
  const resumed = await belfry('subscription', 'resume', 'alerts')
  const removed = await belfry('subscription', 'remove', 'alerts')
  const none = await belfry('subscription', 'list')

  expect(created.stdout).toMatch(
    /^✓ what ends is told to http.*\n {2}id {6}[0-9a-f-]{36}\n {2}secret {2}whsec_/,
  )
  expect(listed.stdout).toMatch(/^NAME +URL +STATE +DELIVERED +LAST +ID\nalerts .* active /)
  expect(wrong.code).toBe(2)
  for (const flag of ['--url', '--batch-size']) expect(wrong.stderr).toContain(`${flag}: `)
  expect(tested).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^✓ http.* took an event of the type belfry.test\n.*\n.*HTTP 200 in \d+ ms\n/,
    ),
  })
  expect(sink.hits.map(({ body }) => JSON.parse(body).type)).toContain('belfry.test')
  expect(resumed.code).toBe(0)
  expect(removed.stdout).toMatch(/is told nothing more\n$/)
  expect(none).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('There are no subscriptions'),
  })
})

test('what ends is followed, over a broken connection, and nothing is left out', async () => {
  const { id } = await create({
    name: 'followed',
    action: { type: 'sleep', duration: '0s' },
    overlap: 'allow',
  })
  const proxy = await startProxy(node.url)
  const flags = ['--task', 'followed', '--since', '1m', '--count', '3']
  const lines = launch(['events', '--follow', ...flags, '--json'], { env: { BELFRY_URL: proxy.url } })
  const told = () => lines.stdout.split('\n').filter((line) => line !== '')

  const runs = [(await trigger(id)).body.id]
  await eventually(async () => told().length === 1)
  proxy.cut()
  runs.push((await trigger(id)).body.id, (await trigger(id)).body.id)
  proxy.mend()
  const { code, stderr } = await lines.exited
  const people = await belfry('events', ...flags)

  expect(code).toBe(0)
  expect(
    told()
      .map((line) => JSON.parse(line).data.run.id)
      .sort(),
  ).toEqual([...runs].sort())
  expect(stderr).toContain('Trying again in 1 s; nothing is left out.')
  expect(people.stdout).toMatch(
    /^(\d\d:\d\d:\d\d\.\d{3} {2}✓ completed in .* {2}followed {2}[0-9a-f-]{36}\n){3}$/,
  )
})

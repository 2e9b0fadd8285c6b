/** What those who run a project do on the command line: the real program against a real server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, launch, runBelfry } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const node = await startTestNode(database)
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
    await belfry('blackout', 'remove', 'freeze', '--yes'),
  ]
  const [gone, unasked] = await Promise.all([
    belfry('blackout', 'rm', 'freeze', '--yes'),
    belfry('blackout', 'rm', 'nights'),
  ])

  expect(none).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('try:   belfry blackout'),
  })
  expect(range.stdout).toMatch(/^✓ blackout freeze {2}2026-01-01.* to 2099-01-01.*; in force now\n {2}id {2}/)
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
    stderr: expect.stringContaining('Add --from and --to (with --days'),
  })
  expect(wrong.code).toBe(2)
  for (const flag of ['--days', '--from']) expect(wrong.stderr).toContain(`${flag}: `)
  expect(removed.stdout).toBe('✓ blackout freeze removed\n')
  expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining('belfry blackout list') })
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes to confirm.') })
})

test('limits of the project are set, shown and removed', async () => {
  const set = await belfry('project', 'limit', '--min-period', '1m', '--max-ahead', '30d')
  const refused = await belfry('task', 'create', 'quick', '--every', '1s', '--action', 'sleep:0s')
  const wrong = await belfry('project', 'limit', '--min-period', 'often')
  const nothing = await belfry('project', 'limit')
  await belfry('project', 'limit', '--min-period', '', '--max-ahead', '')
  const network = await belfry('project', 'edit', '--private-networks', '10.1.0.0/16, 10.2.3.4')
  await belfry('project', 'edit', '--private-networks', 'all')
  const kept = await belfry('project', 'edit', '--keep-history', '90d', '--keep-audit-log', '730d')
  const brief = await belfry('project', 'edit', '--keep-history', '36h')
  await belfry('project', 'edit', '--keep-history', '', '--keep-audit-log', '')
  const shown = await belfry('project', 'show', '--json')

  expect(kept.stdout).toMatch(/history +kept for 90d\n.*audit log +kept for 730d\n$/)
  expect(brief).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--keep-history: must be a whole number of days'),
  })
  expect(network.stdout).toMatch(/networks +10\.1\.0\.0\/16, 10\.2\.3\.4\/32\n$/)
  expect(set.stdout).toMatch(
    /^✓ project default\n {2}min period {2}at least 1m between two occurrences of a task\n.* at most 30d ahead\n$/,
  )
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--every: ') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--min-period: ') })
  expect(nothing).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add a limit, such as --request-rate 100/s'),
  })
  expect(JSON.parse(shown.stdout)).toMatchObject({
    limits: { maxAhead: null },
    network: { allowedPrivate: null },
    retention: { history: null, auditLog: null },
  })
})

test('a schedule is previewed from words or flags, and errors name their flags', async () => {
  const [words, flags, wrong, nothing] = await Promise.all([
    belfry('schedule', 'preview', 'every weekday at 9:30 (Europe/Berlin)', '--from', '2026-11-20T12:00:00Z'),
    belfry(
      ...['schedule', 'preview', '--daily', '02:30', '--timezone', 'America/New_York', '--count', '2'],
      ...['--from', '2027-03-13T08:00:00Z', '--json'],
    ),
    belfry('schedule', 'preview', '--cron', '99 * * * *', '--count', '1000', '--from', 'soon'),
    belfry('schedule', 'preview'),
  ])

  expect(words.stdout).toMatch(
    /^Every weekday at 09:30 \(Europe\/Berlin\)\nDUE +WHEN +UTC\nMon 23 Nov.*09:30:00 Berlin/,
  )
  expect(JSON.parse(flags.stdout)).toMatchObject({
    occurrences: [{ at: '2027-03-14T07:00:00.000Z' }, { at: '2027-03-15T06:30:00.000Z' }],
    notes: [{ kind: 'gap', wall: '2027-03-14T02:30' }, {}],
  })
  expect(wrong.code).toBe(2)
  for (const flag of ['--cron', '--count', '--from']) expect(wrong.stderr).toContain(`${flag}: `)
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('belfry schedule preview ') })
})

test('a queue is paused, limited, listed and resumed by its name', async () => {
  const paused = await belfry('queue', 'pause', 'reports')
  const limited = await belfry('queue', 'limit', 'reports', '3')
  const rated = await belfry('queue', 'limit', 'reports', '--rate', '10/s', '--burst', '20')
  const [listed, page, shown, missing, wrong, slow, empty, waiting] = await Promise.all([
    belfry('queues', 'ls', '--search', 'REPORT'),
    belfry('queue', 'list', '--limit', '1', '--json'),
    belfry('queue', 'show', 'reports'),
    belfry('queue', 'show', 'nothing'),
    belfry('queue', 'limit', 'reports', 'many'),
    belfry('queue', 'limit', 'reports', '--rate', 'slow'),
    belfry('queue', 'limit', 'reports'),
    belfry('queue', 'runs', 'reports'),
  ])
  const resumed = await belfry('queue', 'resume', 'reports')
  const lifted = await belfry('queue', 'limit', 'reports', 'none', '--rate', 'none', '--json')

  expect(paused.stdout).toBe('✓ queue reports paused; to resume: belfry queue resume reports\n')
  expect(limited.stdout).toBe('✓ queue reports: at most 3 in progress at once\n')
  expect(rated.stdout).toBe('✓ queue reports: at most 3 in progress at once; rate: 10/s, up to 20 at once\n')
  expect(slow).toMatchObject({ code: 2, stderr: expect.stringContaining('--rate: must be') })
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('--rate or --burst') })
  expect(listed.stdout).toMatch(
    /^NAME +STATE +WAITING +OLDEST +RUNNING +LIMIT +RATE\nreports +paused +0 +– +0 +3 +10\/s\n$/,
  )
  expect(JSON.parse(page.stdout)).toMatchObject([{ name: 'default', isPaused: false }])
  expect(page.stderr).toContain('there are more')
  expect(shown.stdout).toMatch(/^queue reports {2}paused\n {2}waiting {2}0\n {2}limit {4}at most 3 /)
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('belfry queue list') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('the limit: must be') })
  expect(waiting.stderr).toBe('No runs are waiting in queue reports.\n')
  expect(resumed.stdout).toBe('✓ queue reports resumed; 0 waiting\n')
  expect(JSON.parse(lifted.stdout)).toMatchObject({ isPaused: false, concurrencyLimit: null, rate: null })
})

test('a target is limited, paused, listed and resumed by its name', async () => {
  const target = 'https://api.example.com'
  const limited = await belfry(
    'target',
    'limit',
    'HTTPS://api.example.com/',
    '5',
    '--rate',
    '10/s',
    '--burst',
    '20',
  )
  const paused = await belfry('target', 'pause', target, '--reason', 'migration')
  const [listed, shown, missing, wrong, odd, nothing] = await Promise.all([
    belfry('targets', 'ls', '--state', 'paused'),
    belfry('target', 'show', target),
    belfry('target', 'show', 'https://other.example.com'),
    belfry('target', 'limit', target, '0', '--rate', 'fast'),
    belfry('target', 'list', '--state', 'odd'),
    belfry('target', 'limit', target),
  ])
  const resumed = await belfry('target', 'resume', target)
  const lifted = await belfry('target', 'limit', target, 'none', '--rate', 'none', '--json')

  expect(limited.stdout).toBe(`✓ target ${target}: 5 calls per node at once; rate: 10/s, up to 20 at once\n`)
  expect(paused.stdout).toBe(`✓ target ${target} paused; to resume: belfry target resume ${target}\n`)
  expect(listed.stdout).toMatch(
    /^TARGET +STATE +CALLS +LIMIT +WAITING +P95 +FAILED +SINCE\nhttps:\/\/api.example.com +paused +0 +5 +0 +– +– +/,
  )
  expect(shown.stdout).toMatch(/^target https:\/\/api.example.com {2}paused\n {2}calls +0 in progress/)
  expect(shown.stdout).toMatch(
    / {2}limit +5 per node, set for https:\/\/api.example.com\n.*\n {2}circuit +closed\n/,
  )
  expect(shown.stdout).toMatch(/ {2}paused +.* \(migration\)\n/)
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('belfry target list') })
  expect(wrong.code).toBe(2)
  for (const place of ['the limit: ', '--rate: ']) expect(wrong.stderr).toContain(place)
  expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('--state') })
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('belfry target limit --help') })
  expect(resumed.stdout).toBe(`✓ target ${target} resumed; 0 waiting\n`)
  expect(JSON.parse(lifted.stdout)).toMatchObject({
    isPaused: false,
    limit: { perNode: 128 },
    rate: { limit: null },
  })
})

test('a signing secret is shown once, replaced, and revoked by the beginning of its id', async () => {
  const created = await belfry('signing-secret', 'create')
  const own = await belfry('signing-secret', 'create', '--origin', 'https://Hooks.example.com/')
  const rotated = JSON.parse(
    (await belfry('signing-secret', 'rotate', '--keep-old-for', '7d', '--json')).stdout,
  )
  const [listed, third] = await Promise.all([
    belfry('signing-secrets', 'ls'),
    belfry('signing-secret', 'create'),
  ])
  const unasked = await belfry('signing-secret', 'revoke', rotated.id)
  const revoked = await belfry('signing-secret', 'revoke', rotated.id.slice(0, -1), '--yes')
  const left = await belfry('signing-secret', 'list', '--json')

  const [, first] = /^ {2}id {6}(.*)\n {2}secret {2}whsec_/m.exec(created.stdout) ?? []
  expect(own.stdout).toMatch(
    /^✓ requests to https:\/\/hooks\.example\.com are now signed with a new secret\n/,
  )
  expect(rotated.secret).toMatch(/^whsec_/)
  expect(listed.stdout).toMatch(
    /^ID +FOR +CREATED +EXPIRES\n.* all others .* –\n.* in (6 d 23 h|7 d)\n.* https:\/\/hooks\.example\.com .*–\n$/,
  )
  expect(listed.stdout).not.toContain('whsec_')
  expect(third).toMatchObject({ code: 5, stderr: expect.stringContaining('belfry signing-secret revoke') })
  expect(third.stderr).toContain(rotated.id)
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes to confirm.') })
  expect(revoked.stdout).toBe(`✓ signing secret ${rotated.id} revoked\n`)
  expect(JSON.parse(left.stdout)).toMatchObject([
    { id: first, origin: null },
    { origin: 'https://hooks.example.com' },
  ])
})

test('a secret is set from a file, listed, shown with its users and deleted', async () => {
  const value = 'canary-of-the-command-line'
  const file = join(aDirectory(), 'value')
  writeFileSync(file, `${value}\n`)
  const empty = await belfry('secret', 'set', 'CLI_TOKEN')
  const set = await belfry('secret', 'set', 'CLI_TOKEN', '--file', file)
  const again = await belfry('secret', 'set', 'CLI_TOKEN', '--file', file)
  await belfry(
    'task',
    'create',
    'user-of-it',
    '--at',
    '2099-01-01T00:00:00Z',
    '--action',
    'ping:https://example.com/{{secret.CLI_TOKEN}}',
  )
  const listed = await belfry('secrets', 'ls')
  const shown = await belfry('secret', 'show', 'CLI_TOKEN')
  const used = await belfry('secret', 'delete', 'CLI_TOKEN', '--yes')
  const deleted = await belfry('secret', 'delete', 'CLI_TOKEN', '--force', '--yes')
  const key = await belfry('secret', 'make-key')
  const keys = await belfry('secret', 'list-keys')

  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('value') })
  expect(set.stdout).toBe('✓ secret CLI_TOKEN created\nTasks use it as {{secret.CLI_TOKEN}}\n')
  expect(again.stdout).toContain('is now at version 2')
  expect(listed.stdout).toMatch(/^NAME +VERSION +UPDATED +CREATED\nCLI_TOKEN +2 /)
  expect(shown.stdout).toMatch(/used by +[0-9a-f-]{36} {2}user-of-it/)
  expect(used).toMatchObject({ code: 5, stderr: expect.stringContaining('user-of-it') })
  expect(deleted).toMatchObject({ code: 0, stdout: '✓ secret CLI_TOKEN deleted\n' })
  expect(Buffer.from(key.stdout, 'base64')).toHaveLength(32)
  expect(keys.stdout).toMatch(
    /^KEY +VALUES +FIRST ON +HELD BY\n([0-9a-f]{16}) +\d+ +1 +1 of 1 nodes\n\nNODE +SECRETS +KEYS +MISSING\n\S+ +ready +\1 +–\n$/,
  )
  for (const { stdout, stderr } of [set, again, listed, shown, used, deleted])
    expect(stdout + stderr).not.toContain('canary')
})

test('nodes and workers are listed with their work and their state', async () => {
  const [nodes, workers, dead, wrong] = await Promise.all([
    belfry('node', 'list'),
    belfry('workers', 'ls', '--json'),
    belfry('worker', 'list', '--state', 'dead'),
    belfry('node', 'list', '--state', 'odd'),
  ])

  expect(nodes.stdout).toMatch(
    /^NAME +STATE +ROLES +RUNS +SHARDS .*\n.* alive +api,scheduler,worker,liveness +\d+ of \d+ +64 /,
  )
  expect(JSON.parse(workers.stdout)).toMatchObject([{ state: 'alive', offers: null }])
  expect(dead).toMatchObject({ code: 0, stdout: '', stderr: 'No worker is dead.\n' })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('alive, quiet, dead') })
})

test('dead letters are listed by failure, rerun at a rate, and dismissed', async () => {
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
  expect(dry.stdout).toBe('2 dead letters would be rerun\n')
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes to confirm.') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--rate: ') })
  expect(done).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('completed: 2 rerun, 0 refused'),
  })
  await eventually(async () => sink.hits.length === 4)
  expect(dismissed.stdout).toBe('0\n')
})

test('a dry run of a rerun says which dead letters cannot be rerun', async () => {
  const sink = await startSink(() => ({ status: 500 }))
  const { id } = await create({
    name: 'gone',
    action: { type: 'ping', url: sink.url },
    retry: { limit: 0 },
  })
  await trigger(id)
  await eventually(async () => (await node.request('GET', '/v1/dead-letters')).body.items.length === 1, {
    withinMs: 60_000,
  })
  await node.request('POST', `/v1/tasks/${id}/cancel`)

  const dry = await belfry('dead-letter', 'redrive', '--task', 'gone', '--dry-run')
  const dismissed = await belfry('dead-letter', 'dismiss', '--task', 'gone', '--yes')

  expect(dry.stdout).toBe('0 dead letters would be rerun; 1 cannot be rerun because its task has ended\n')
  expect(dismissed.stdout).toBe('✓ 1 dead letter dismissed\n')
})

test('dead letters that take several requests are counted and dismissed by one command', async () => {
  const { id } = await create({ name: 'many failures', action: { type: 'sleep', duration: '1s' } })
  await database.db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome)
    select gen_random_uuid(), ${id}, ${DEFAULT_PROJECT_ID}, now(), now(), now(), 1, 1, 1, 'occurrence', 'permanently_failed', 'failed'
    from generate_series(1, 20500)`)

  const dry = await belfry('dead-letter', 'dismiss', '--task', id, '--dry-run')
  const dismissed = await belfry('dead-letter', 'dismiss', '--task', id, '--yes')

  expect(dry.stdout).toBe('20500 dead letters would be dismissed\n')
  expect(dismissed.stdout).toBe('✓ 20500 dead letters dismissed\n')
})

test('a subscription is created, delivers events, and is removed', async () => {
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
  await database.db.run(
    sql`update subscription set gap = '{"from": 86400000, "to": 172800000, "at": 172800000}' where name = 'alerts'`,
  )
  const incomplete = await belfry('subscription', 'list')
  const resumed = await belfry('subscription', 'resume', 'alerts')
  const removed = await belfry('subscription', 'remove', 'alerts', '--yes')
  const none = await belfry('subscription', 'list')

  expect(created.stdout).toMatch(
    /^✓ events are sent to http.*\n {2}id {6}[0-9a-f-]{36}\n {2}secret {2}whsec_/,
  )
  expect(listed.stdout).toMatch(/^NAME +URL +STATE +DELIVERED +LAST +ID\nalerts .* active /)
  expect(wrong.code).toBe(2)
  for (const flag of ['--url', '--batch-size']) expect(wrong.stderr).toContain(`${flag}: `)
  expect(tested).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^✓ http.* accepted a test event \(belfry\.test\)\n.*\n.*HTTP 200 in \d+ ms\n/,
    ),
  })
  expect(sink.hits.map(({ body }) => JSON.parse(body).type)).toContain('belfry.test')
  expect(incomplete.stdout).toContain(
    '! alerts: events from 1970-01-02T00:00:00.000Z to 1970-01-03T00:00:00.000Z may be missing',
  )
  expect(resumed.code).toBe(0)
  expect(removed.stdout).toMatch(/receives no more events\n$/)
  expect(none).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('There are no subscriptions'),
  })
})

test('belfry events --follow loses no ended run over a broken connection', async () => {
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
  expect(stderr).toContain('Reconnecting in 1 s; no events are lost.')
  expect(people.stdout).toMatch(
    /^(\d\d:\d\d:\d\d\.\d{3} {2}✓ completed in .* {2}followed {2}[0-9a-f-]{36}\n){3}$/,
  )
})

test('changes are listed with their reason, shown field by field, and followed', async () => {
  const { id } = await create({ name: 'Audited', action: { type: 'sleep', duration: '1s' } })
  await belfry('task', 'edit', 'Audited', '--timeout', '5m', '--reason', 'zu kurz für März')

  const listed = await belfry('audit-log', 'list', '--task', 'Audited')
  const ids = await belfry('audit-log', 'ls', '--task', 'Audited', '--action', 'task.edit', '--field', 'id')
  const shown = await belfry('audit-log', 'show', ids.stdout.trim())
  const none = await belfry('audit-log', 'list', '--subject', id, '--action', 'task.delete')
  const wrong = await belfry('audit-log', 'list', '--action', 'task.paint')
  const following = launch(
    [
      'audit-log',
      'list',
      '--follow',
      '--since',
      '1h',
      '--task',
      'Audited',
      '--action',
      'task.edit',
      '--json',
    ],
    { env: { BELFRY_URL: node.url } },
  )
  const followed = await eventually(async () => following.stdout.includes('zu kurz') && following.stdout)
  following.child.kill('SIGINT')

  expect(listed.stdout).toMatch(/task\.edit +task Audited +zu kurz für März[\s\S]*task\.create +task Audited/)
  expect(shown.stdout).toMatch(/reason +zu kurz für März[\s\S]*timeout\n.*- 20m\n.*\+ 5m/)
  expect(JSON.parse(followed)).toMatchObject({ action: 'task.edit', subject: { id } })
  expect(none).toMatchObject({ code: 0, stderr: expect.stringContaining('No changes found') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--action') })
})

test('run logs --follow loses no line over a broken connection, and stops when the run ends', async () => {
  const { id } = await create({ action: { type: 'handler', name: 'talk' }, retry: { limit: 0 } })
  const { body: run } = await trigger(id)
  const worker = await aWorker(node.url, { handlers: ['talk'] })
  const [given] = await worker.claim(1)
  const at = new Date().toISOString()
  const say = (first: number, message: string, stream = 'stdout') =>
    worker.say('log', {
      runs: [{ runId: run.id, fence: given?.fence, first, lines: [{ at, stream, message }] }],
    })
  const proxy = await startProxy(node.url)
  const follow = (url: string, ...flags: string[]) =>
    launch(['run', 'logs', run.id, '--follow', ...flags], { env: { BELFRY_URL: url } })
  // The second says nothing before the third line, so nobody knows when its connection could be cut.
  const [lines, found] = [follow(proxy.url), follow(node.url, '--search', 'third', '--json')]

  await say(0, 'the first\nthe sec')
  await lines.said(/^the first\n/)
  proxy.cut()
  await say(1, 'ond\n')
  proxy.mend()
  await say(2, 'the third\n', 'stderr')
  await lines.said(/the third\n/)
  await worker.say('complete', {
    runs: [{ runId: run.id, fence: given?.fence, outcome: 'failed', error: { message: 'enough' } }],
  })
  const [whole, part] = [await lines.exited, await found.exited]

  expect(whole).toMatchObject({ code: 7, stdout: 'the first\nthe second\nthe third\n' })
  expect(whole.stderr).toContain('no lines are lost')
  expect(
    part.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ stream: 'stderr', text: 'the third' }])
})

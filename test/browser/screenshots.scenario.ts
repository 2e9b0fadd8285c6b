/** Pictures of the screens about tasks, runs, targets and nodes, with 0, 5 and 5 000 tasks. */
import { test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { heading, picturesOf, type Screen, text } from './pictures.ts'
import { FAR_AWAY, FIVE, many } from './seeds.ts'

/** How many minutes of history to wait for before the overview is pictured. */
const HISTORY_MINUTES = Number(process.env['BELFRY_SCREENSHOT_MINUTES'] ?? 0)
const MINUTE_MS = 60_000

const { visit } = await startBrowser()
const sink = await startSink(({ path }) =>
  path === '/broken' ? { status: 503, body: 'upstream is down' } : { status: 200, body: '{"ok":true}' },
)
const node = await startTestNode(await createTestDatabase())
const startedAt = Date.now()

const picture = picturesOf(visit, node.url)

/** Edits, a backfill and settings of the project: what screens about them show. */
async function makePast(taskId: string): Promise<void> {
  await node.request('PATCH', `/v1/tasks/${taskId}`, { timeout: '5m', reason: 'it hangs now and then' })
  await node.request('PATCH', `/v1/tasks/${taskId}`, {
    schedule: { type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin', gap: 'skip' },
    retry: { limit: 5, max: '2m' },
  })
  await node.request('POST', `/v1/tasks/${taskId}/backfill`, {
    from: new Date(Date.now() - 5 * 24 * 60 * MINUTE_MS).toISOString(),
    to: new Date().toISOString(),
    rate: '1/s',
    reason: 'the disk was full',
  })
  await node.request('PATCH', '/v1/targets/*.example.com', { limit: 5, rate: '10/s' })
  await node.request('POST', `/v1/targets/${encodeURIComponent('https://api.example.com')}/pause`, {
    reason: 'maintenance',
  })
  await node.request('POST', '/v1/subscriptions', {
    name: 'incident channel',
    url: `${sink.url}/broken`,
    filter: { states: ['permanently_failed'], tags: ['prod'] },
  })
  await node.request('POST', '/v1/blackouts', {
    name: 'year-end freeze',
    window: { type: 'range', from: '2026-12-24T00:00:00Z', to: '2027-01-02T00:00:00Z' },
  })
  await node.request('POST', '/v1/blackouts', {
    name: 'maintenance of the warehouse',
    effect: 'defer',
    window: { type: 'weekly', days: ['sat', 'sun'], from: '22:00', to: '06:00', timezone: 'Europe/Berlin' },
  })
}

const OVERVIEW: Screen = { name: 'overview', path: '/', ready: heading(/In the last 24 hours/) }
const NODES: Screen = { name: 'nodes', path: '/nodes', ready: heading('64 shards') }

test('no data', async () => {
  await picture('0', [
    { name: 'first-run', path: '/', ready: heading('No tasks yet') },
    { name: 'tasks', path: '/tasks', ready: text('No tasks yet') },
    { name: 'runs', path: '/runs', ready: text('No runs yet') },
    { name: 'new', path: '/tasks/new', ready: text('Every day at 09:00') },
    { name: 'new-once', path: '/tasks/new?when=once', ready: text('At (Berlin)') },
    { name: 'targets', path: '/targets', ready: text('No targets yet') },
    { name: 'dead-letters', path: '/dead-letters', ready: text('No dead letters.') },
    { name: 'queues', path: '/queues', ready: heading('By name') },
    { name: 'blackouts', path: '/settings', ready: text('No blackouts yet.') },
    {
      name: 'subscriptions',
      path: '/settings/subscriptions',
      ready: text('No subscriptions yet.'),
    },
    { name: 'secrets', path: '/settings/secrets', ready: text('No secrets yet.') },
    { name: 'signing-secrets', path: '/settings/signing-secrets', ready: text('No signing secrets yet') },
    { name: 'network', path: '/settings/network', ready: text('Save network settings') },
    { name: 'encryption-keys', path: '/settings/encryption-keys', ready: text('has all keys') },
    { name: 'keys', path: '/settings/keys', ready: text('There are no API keys') },
    NODES,
    { name: 'missing', path: '/tasks/x/y/z', ready: heading('Page not found') },
  ])
})

test(
  'five tasks, one of them failing, one running, one paused',
  async () => {
    const ids: Record<string, string> = {}
    for (const { pause, runs, ...task } of FIVE(sink.url)) {
      const { body } = await node.request('POST', '/v1/tasks', task)
      ids[body.name] = body.id
      if (pause) await node.request('POST', `/v1/tasks/${body.id}/pause`)
      for (let n = 0; n < runs; n++) {
        const { body: run } = await node.request('POST', `/v1/tasks/${body.id}/trigger`)
        const wanted = task.action.type === 'sleep' ? 'running' : null
        await eventually(async () => {
          const { state, endedAt } = (await node.request('GET', `/v1/runs/${run.id}`)).body
          return wanted === null ? endedAt !== null : state === wanted
        })
      }
    }
    const lastRun = async (name: string) =>
      (await node.request('GET', `/v1/tasks/${ids[name]}/runs?limit=1`)).body.items[0].id
    const run = async (name: string, task: string): Promise<Screen> => ({
      name,
      path: `/runs/${await lastRun(task)}`,
      ready: heading('Timeline'),
    })
    const backup = `/tasks/${ids['nightly backup']}`
    await makePast(ids['nightly backup'] ?? '')
    const counted = async () => (await node.request('GET', '/v1/stats')).body.lastDay.completed > 0
    await eventually(counted, { withinMs: 2 * MINUTE_MS, everyMs: 500 })
    await eventually(async () => Date.now() >= startedAt + HISTORY_MINUTES * MINUTE_MS, {
      withinMs: (HISTORY_MINUTES + 1) * MINUTE_MS,
      everyMs: 500,
    })

    await picture('5', [
      OVERVIEW,
      { name: 'tasks', path: '/tasks', ready: text('nightly backup') },
      { name: 'task', path: backup, ready: (page) => page.getByRole('table', { name: 'Runs' }).waitFor() },
      { name: 'task-upcoming', path: `${backup}?tab=upcoming`, ready: heading('Next occurrences') },
      {
        name: 'task-ledger',
        path: `${backup}?tab=ledger`,
        ready: heading('Expected and recorded occurrences'),
      },
      { name: 'task-backfills', path: `${backup}?tab=backfills`, ready: heading('Backfills, latest first') },
      { name: 'task-versions', path: `${backup}?tab=versions`, ready: heading('Versions, latest first') },
      { name: 'task-definition', path: `${backup}?tab=definition`, ready: heading('As JSON') },
      {
        name: 'panel-trigger',
        path: `${backup}?panel=trigger`,
        ready: text('It uses the settings of the task.'),
      },
      { name: 'panel-pause', path: `${backup}?panel=pause`, ready: text('It has no active runs.') },
      { name: 'panel-delete', path: `${backup}?panel=delete`, ready: text('This cannot be undone.') },
      { name: 'panel-skip', path: `${backup}?panel=skip`, ready: text('The first occurrence that runs is') },
      { name: 'panel-backfill', path: `${backup}?panel=backfill`, ready: text('for 1 occurrence') },
      {
        name: 'panel-backfill-elsewhere',
        path: `/tasks/${ids[FAR_AWAY]}?panel=backfill`,
        ready: text('From (New York)'),
      },
      {
        name: 'dead-letters',
        path: '/dead-letters',
        ready: (page) => page.getByRole('list', { name: 'Groups' }).waitFor(),
      },
      { name: 'panel-redrive', path: '/dead-letters?panel=redrive', ready: text('You can stop the redrive') },
      { name: 'blackouts', path: '/settings/blackouts', ready: text('year-end freeze') },
      { name: 'subscriptions', path: '/settings/subscriptions', ready: text('incident channel') },
      { name: 'panel-blackout', path: '/settings/blackouts?panel=new', ready: text('Create blackout') },
      { name: 'panel-subscription', path: '/settings/subscriptions?panel=new', ready: text('Subscribe') },
      { name: 'overview-day', path: '/?range=24h', ready: heading('Lateness, last 24 hours') },
      { name: 'edit', path: `${backup}/edit`, ready: text('Every day at 02:30') },
      {
        name: 'edit-changed',
        path: `${backup}/edit`,
        ready: async (page) => {
          await page.getByLabel('Attempt timeout').fill('30s')
          await page.getByLabel('Reason').fill('the server answers faster')
        },
      },
      { name: 'new-copy', path: `/tasks/new?from=${ids['sync crm']}`, ready: heading('New task') },
      { name: 'targets', path: '/targets', ready: text(sink.url) },
      { name: 'target', path: `/targets/${encodeURIComponent(sink.url)}`, ready: heading('By node') },
      {
        name: 'target-paused',
        path: `/targets/${encodeURIComponent('https://api.example.com')}`,
        ready: text('maintenance'),
      },
      await run('run-completed', 'nightly backup'),
      await run('run-failed', 'sync crm'),
      await run('run-running', 'make thumbnails'),
      { name: 'runs', path: '/runs', ready: (page) => page.getByRole('table', { name: 'Runs' }).waitFor() },
      NODES,
    ])
  },
  (20 + HISTORY_MINUTES) * MINUTE_MS,
)

test('five thousand tasks, with names of all kinds', async () => {
  await node.request('POST', '/v1/tasks/bulk', { tasks: many(5_000) })

  await picture('5000', [
    OVERVIEW,
    { name: 'tasks', path: '/tasks', ready: text('task 4999') },
    { name: 'tasks-odd', path: '/tasks?tag=odd', ready: text('<b>not bold</b>') },
    { name: 'runs', path: '/runs', ready: (page) => page.getByRole('table', { name: 'Runs' }).waitFor() },
    NODES,
  ])
})

/** Common paths: the first task, a new task, a conflicting edit, a failing task. */
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { inShell } from '../../support/shell.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

/** The server must be new: the first of them is a newcomer's. */
export function paths({ visit }: TestBrowser, { node, db }: TestServer): void {
  const create = async (task: object) => (await node.request('POST', '/v1/tasks', task)).body

  test('a newcomer creates the first task and sees it run', async () => {
    const { page } = await visit(node.url)

    await page.getByRole('heading', { name: 'No tasks yet' }).waitFor()
    await page.getByText(/^Database: PostgreSQL \d+\.\d+ at .* · local access only/).waitFor()
    const command = await page.getByRole('region', { name: 'In a terminal', exact: true }).textContent()
    await page.getByRole('button', { name: 'Create task' }).click()
    await page.getByRole('heading', { name: 'Ring every minute' }).waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('table', { name: 'Runs' }).getByText('completed').first().waitFor()

    const { body } = await node.request('GET', '/v1/tasks')
    expect(body.items).toMatchObject([
      { name: 'Ring every minute', schedule: { type: 'every', interval: '1m' } },
    ])
    expect(command).toBe(
      `npx belfry task create hello --every 1m --action sleep:1s --server ${new URL(node.url).origin}`,
    )
  })

  test('a new task is tested before it is saved, in the zone of the browser', async () => {
    const sink = await startSink(() => ({ status: 200, body: 'thank you' }))
    const { page } = await visit(`${node.url}/tasks/new`)

    await page.getByLabel('Name', { exact: true }).fill('morning report')
    await page.getByLabel('URL', { exact: true }).fill(`${sink.url}/hook`)
    await page.getByLabel('Body', { exact: true }).fill('{"report": "daily"}')
    await page.getByText('Every day at 09:00 (Europe/Berlin)').waitFor()
    await page
      .getByText(/does not exist on|happens twice on/)
      .first()
      .waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Send a test run' }).click()
    await page.getByText('HTTP 200').waitFor()
    await page.getByRole('button', { name: 'Create task' }).click()
    await page.getByRole('heading', { name: 'morning report' }).waitFor()

    expect(sink.hits).toMatchObject([{ method: 'POST', path: '/hook', body: '{"report":"daily"}' }])
    const { body } = await node.request('GET', '/v1/tasks?q=report')
    expect(body.items).toMatchObject([
      {
        name: 'morning report',
        schedule: { type: 'daily', hour: 9, minute: 0, timezone: 'Europe/Berlin' },
        action: { type: 'webhook', url: `${sink.url}/hook`, body: { report: 'daily' } },
      },
    ])
  })

  test('errors appear at their fields, clock changes are listed, and the shown command creates the same task', async () => {
    const { page } = await visit(`${node.url}/tasks/new`, { expected: /422/ })

    await page.getByText('Cron', { exact: true }).click()
    await page.getByLabel('Cron expression').fill('0 25 * * *')
    await page.getByLabel('Cron expression').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByLabel('Cron expression').fill('30 2 * * *')
    await page.getByRole('list', { name: 'Clock changes' }).getByText('02:30 does not exist').waitFor()
    await page.getByRole('button', { name: 'Create task' }).click()
    await page.getByLabel('URL', { exact: true }).and(page.locator('[aria-invalid=true]:focus')).waitFor()
    const refusals = await page.getByText('Not saved: one field is invalid.').count()
    await page.getByLabel('Name', { exact: true }).fill(`it's "quoted" & <b>`)
    await page.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:9/?a=1&b=$HOME')
    await page.getByLabel('Body', { exact: true }).fill(`{"it's": ["a\\nb"]}`)
    await page.getByText('CLI', { exact: true }).click()
    const command = (await page.getByRole('region', { name: 'As CLI' }).textContent()) ?? ''
    const { stdout } = await inShell(`${command} --field id`)
    await page.getByRole('button', { name: 'Create task' }).click()
    await page.getByRole('heading', { name: `it's "quoted"` }).waitFor()

    expect(refusals).toBe(1)
    const byShell = (await node.request('GET', `/v1/tasks/${stdout.trim()}`)).body
    const byForm = (await node.request('GET', `/v1/tasks/${page.url().split('/').at(-1)}`)).body
    const { id: _, createdAt: __, updatedAt: ___, ...wanted } = byForm
    expect(byShell).toMatchObject(wanted)
    expect(byForm.name).toBe(`it's "quoted" & <b>`)
  })

  test('the form shows the mask of a secret, and saving it keeps the secret', async () => {
    const headers = { authorization: 'Bearer canary', accept: 'text/plain' }
    const task = await create({
      name: 'secretive',
      action: { type: 'http', url: 'https://example.com/', method: 'GET', headers },
      schedule: { type: 'manual' },
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}/edit`)
    const shown = page.getByLabel('Headers')
    await shown.waitFor()
    const [text, form] = [await shown.inputValue(), await page.content()]

    await shown.fill(text.replace('text/plain', 'text/html'))
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('version 2', { exact: true }).waitFor()

    expect(text).toBe('authorization: ••••••\naccept: text/plain')
    expect(form + (await page.content())).not.toContain('canary')
    const [stored] = await db.run(
      sql<{
        headers: object
      }>`select definition #> '{action,headers}' as headers from task where id = ${task.id}`,
    )
    expect(stored?.headers).toEqual({ ...headers, accept: 'text/html' })
  })

  test('an edit shows its changes, and a conflicting edit shows both versions and loses neither', async () => {
    const task = await create({
      name: 'shared',
      action: { type: 'sleep', duration: '1s' },
      schedule: { type: 'daily', hour: 2, minute: 0, timezone: 'Europe/Berlin' },
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}/edit`, { expected: /412/ })

    await page.getByText('No changes yet.').waitFor()
    await page.getByLabel('Attempt timeout').fill('30s')
    await page.getByLabel('At', { exact: true }).fill('02:30')
    const consequences = page.getByRole('list', { name: 'Changes', exact: true })
    await consequences.getByText('Next run moves from').waitFor()
    const told = await consequences.textContent()
    await node.request('PATCH', `/v1/tasks/${task.id}`, { retry: { limit: 9 } })
    await page.getByText('Someone saved version 2 in the meantime.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page
      .locator('h2:focus')
      .getByText('Someone else changed this task while you were editing')
      .waitFor()
    const compared = await page.getByRole('region', { name: 'Both versions' }).textContent()
    await page.getByLabel('Reason').fill('the server is slower')
    await page.getByRole('button', { name: 'Save mine as version 3' }).click()
    await page.getByText('version 3', { exact: true }).waitFor()

    expect(told).toContain('Version 1 becomes 2.')
    expect(told).toContain('timeout: 20m → 30s')
    expect(told).toContain('schedule.minute: 0 → 30')
    expect(compared).toMatch(/retry.*"limit":3.*"limit":9/)
    expect(compared).toContain('timeout20m20m30s')
    const { body } = await node.request('GET', `/v1/tasks/${task.id}`)
    expect(body).toMatchObject({ version: 3, timeout: '30s', retry: { limit: 9 }, schedule: { minute: 30 } })
    const { body: versions } = await node.request('GET', `/v1/tasks/${task.id}/versions`)
    expect(versions.items[0]).toMatchObject({ version: 3, reason: 'the server is slower' })
  })

  test('a failed run shows the response, and can be rerun', async () => {
    const sink = await startSink((_, count) =>
      count <= 2 ? { status: 503, body: 'Not today.\n'.repeat(40) } : { status: 200 },
    )
    const task = await create({
      name: 'fragile',
      action: { type: 'http', url: sink.url, method: 'PUT', body: { a: 1 } },
      schedule: { type: 'manual' },
      retry: { limit: 1, initial: '10ms', max: '10ms' },
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}`)

    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: 'permanently failed' }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await page.getByText('attempt 2', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Body of attempt 2' }).getByText('not today').first().waitFor()
    await page.getByLabel('Search in Body of attempt 2').fill('NOT today')
    await page.getByText('1 of 40', { exact: true }).waitFor()
    await page.keyboard.press('Shift+Enter')
    await page.getByText('40 of 40', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rerun' }).click()
    await page.getByText('completed').first().waitFor()

    expect(sink.hits).toHaveLength(3)
    expect(await page.getByText('rerun of').count()).toBe(1)
  })

  test('a run shows the request of its own version of the task, without secrets', async () => {
    const sink = await startSink()
    const task = await create({
      name: 'changes its mind',
      action: {
        type: 'http',
        url: `${sink.url}/old`,
        method: 'POST',
        headers: { authorization: 'Bearer hunter2' },
      },
      schedule: { type: 'manual' },
    })
    const { body: run } = await node.request('POST', `/v1/tasks/${task.id}/trigger`)
    await eventually(async () => (await node.request('GET', `/v1/runs/${run.id}`)).body.endedAt)
    await node.request('PATCH', `/v1/tasks/${task.id}`, { action: { type: 'ping', url: `${sink.url}/new` } })
    const { page } = await visit(`${node.url}/runs/${run.id}`)

    await page.getByText(`POST ${sink.url}/old`).waitFor()
    await page.getByText('From version 1 of the task. The current version is 2.').waitFor()
    await page.getByText('authorization: ••••••').waitFor()

    expect(await page.getByText('hunter2').count()).toBe(0)
  })

  test('a pause can be undone, and deleting shows its effects first and records the reason', async () => {
    const task = await create({
      name: 'weekly',
      action: { type: 'sleep', duration: '1s' },
      schedule: { type: 'every', interval: '7d' },
    })
    const state = async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body.state
    const { page } = await visit(`${node.url}/tasks?q=weekly`)

    await page.getByRole('button', { name: 'Pause weekly' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await eventually(async () => (await state()) === 'scheduled')
    await page.getByRole('button', { name: 'Pause weekly' }).waitFor()
    await page.getByRole('button', { name: 'Delete weekly' }).click()
    await page.getByRole('dialog').getByText('next run would have been').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('abgelöst 🔁')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No tasks match these filters.').waitFor()

    expect(await state()).toBeUndefined()
    const { body } = await node.request('GET', `/v1/audit-log?subject=${task.id}&action=task.delete`)
    expect(body.items).toMatchObject([{ reason: 'abgelöst 🔁' }])
  })

  test('undoing a resume restores the pause with its reason and its end', async () => {
    const task = await create({
      name: 'until monday',
      action: { type: 'sleep', duration: '1s' },
      schedule: { type: 'every', interval: '7d' },
    })
    const pause = { reason: 'migration', until: new Date(Date.now() + 86_400_000).toISOString() }
    await node.request('POST', `/v1/tasks/${task.id}/pause`, pause)
    const read = async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body
    const { page } = await visit(`${node.url}/tasks?q=monday`)

    await page.getByRole('button', { name: 'Resume until monday' }).click()
    await eventually(async () => (await read()).state === 'scheduled')
    await page.getByRole('button', { name: 'Undo' }).click()
    await eventually(async () => (await read()).state === 'paused')

    expect(await read()).toMatchObject({ pauseReason: pause.reason, resumeAt: pause.until })
  })

  test('a task is written as JSON, and errors name their pointers', async () => {
    const { page } = await visit(`${node.url}/tasks/new`, { expected: /422/ })
    const create = () => page.getByRole('button', { name: 'Create task' }).click()

    await page.getByText('JSON', { exact: true }).first().click()
    const json = page.getByLabel('The task as JSON', { exact: true }).and(page.locator('textarea'))
    await json.fill('{ "name": "by hand"')
    await page.getByText('Invalid JSON').waitFor()
    await json.fill(
      '{"name": "by hand", "action": {"type": "sleep", "duration": "1s"}, "schedule": "every weekday at 9:00 (Europe/Berlin)", "queueTimeout": "soon"}',
    )
    await page.getByText('Every weekday at 09:00').waitFor()
    await create()
    await page.getByRole('list', { name: 'Errors' }).getByText('/queueTimeout').waitFor()
    await json.fill((await json.inputValue()).replace('soon', '5m'))
    await page.getByText('Form', { exact: true }).click()
    const shown = await page.getByLabel('Queue timeout').inputValue()
    await create()
    await page.getByRole('heading', { name: 'by hand' }).waitFor()

    expect(shown).toBe('5m')
    const { body } = await node.request('GET', '/v1/tasks?q=by%20hand')
    expect(body.items).toMatchObject([{ queueTimeout: '5m', schedule: { type: 'cron' } }])
  })
}

/** Changes by others are shown live, without moving the rows that are being read. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { writeCircuits } from '../../../src/store/targets/target-circuits.ts'
import type { TestBrowser } from '../../support/browser.ts'
import { createTestDatabase } from '../../support/database.ts'
import { startTestNode } from '../../support/node.ts'

export async function live({ visit }: TestBrowser): Promise<void> {
  const database = await createTestDatabase()
  let node = await startTestNode(database)
  const { url } = node
  const sleepTask = (name: string) => ({
    name,
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
  })
  const create = async (name: string) => (await node.request('POST', '/v1/tasks', sleepTask(name))).body

  test('rows appear, change and disappear live, and new rows wait while the list is scrolled', async () => {
    await create('there before')
    const { page } = await visit(`${url}/tasks`)
    await page.getByText('there before').waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    const { id } = await create('made elsewhere')
    const row = page.getByRole('row').filter({ hasText: 'made elsewhere' })
    await row.getByText('scheduled').waitFor()
    await node.request('POST', `/v1/tasks/${id}/trigger`)
    await row.getByRole('img', { name: 'Last 1 run: 1 completed' }).waitFor()
    await node.request('POST', `/v1/tasks/${id}/pause`)
    await row.getByText('paused', { exact: true }).waitFor()
    await node.request('DELETE', `/v1/tasks/${id}`)
    await row.waitFor({ state: 'detached' })

    expect(await page.getByText('there before').count()).toBe(1)

    await node.request('POST', '/v1/tasks/bulk', {
      tasks: Array.from({ length: 60 }, (_, n) => sleepTask(`filler ${n}`)),
    })
    await page.getByText('filler 59').waitFor()
    await page.mouse.move(600, 600)
    await page.mouse.wheel(0, 800)
    await page.getByText('filler 40').waitFor()
    await create('came in above')
    await page.getByRole('button', { name: '1 new' }).waitFor()
    const before = await page.getByText('came in above').count()
    await page.getByRole('button', { name: '1 new' }).click()
    await page.getByText('came in above').waitFor()

    expect(before).toBe(0)
  })

  test('the overview shows refused writes until PostgreSQL accepts them', async () => {
    const { id } = await create('unwritable')
    await database.db.run({
      text: `alter table run add constraint refused_by_test check (task_id <> '${id}') not valid`,
      values: [],
    })
    await node.request('POST', `/v1/tasks/${id}/trigger`)
    const { page } = await visit(`${url}/`)

    await page.getByText(/PostgreSQL rejects 1 write: the outcome of a run cannot be recorded/).waitFor()
    await page
      .getByText(/unwritable: the outcome of a run cannot be recorded, since .*refused_by_test/)
      .waitFor()
    await database.db.run({ text: 'alter table run drop constraint refused_by_test', values: [] })

    await page.getByText(/PostgreSQL rejects/).waitFor({ state: 'detached' })
  })

  test('the overview names a target that does not respond until its circuit closes', async () => {
    const target = 'https://api.example.com'
    const [living] = await database.db.run(sql<{ id: string }>`select id from node where dead_at is null`)
    const told = (state: 'open' | 'closed') =>
      writeCircuits(living?.id ?? '', [
        {
          ...{ projectId: DEFAULT_PROJECT_ID, target, state, openedAt: Date.now() },
          until: state === 'open' ? Date.now() + 60_000 : null,
          error: { code: 'connect_refused', message: 'nobody listens', at: Date.now() },
        },
      ])
    await database.db.run(told('open'))
    const { page } = await visit(`${url}/`)

    await page.getByText(/Calls to https:\S+ wait: it has not responded since .*: nobody listens/).waitFor()
    await database.db.run(told('closed'))

    await page.getByRole('link', { name: target }).waitFor({ state: 'detached' })
  })

  test('the page of a run updates automatically', async () => {
    const { body: task } = await node.request('POST', '/v1/tasks', {
      ...sleepTask('slow'),
      action: { type: 'sleep', duration: '1h' },
    })
    const { body: run } = await node.request('POST', `/v1/tasks/${task.id}/trigger`)
    const { page } = await visit(`${url}/runs/${run.id}`)

    await page.getByText('running', { exact: true }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel run…' }).click()
    await page.getByRole('dialog').waitFor()
    await node.request('POST', `/v1/runs/${run.id}/cancel`)
    await page.getByText('cancelled', { exact: true }).first().waitFor()

    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Rerun' }).count()).toBe(1)
  })

  test('a task that someone else deletes is shown as deleted on every page', async () => {
    const { id } = await create('soon gone')
    // What is asked about it in the moment in which it goes is not found.
    const expected = /404/
    const { page } = await visit(`${url}/tasks/${id}`, { expected })
    const { page: form } = await visit(`${url}/tasks/${id}/edit`, { expected })
    await page.getByRole('heading', { name: 'soon gone' }).waitFor()
    await form.getByLabel('Retries').fill('9')
    await page.getByText('live', { exact: true }).waitFor()
    await form.getByText('live', { exact: true }).waitFor()

    await node.request('DELETE', `/v1/tasks/${id}`)
    await page.getByText('soon gone was deleted.').waitFor()
    await form.getByText('soon gone was deleted.').waitFor()

    expect(await page.getByRole('button', { name: 'Run now' }).count()).toBe(0)
    expect(await form.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true)
    expect(await form.getByLabel('Retries').inputValue()).toBe('9')
  })

  test('a dashboard whose stream is refused says so, stays in use, and becomes live when it is accepted', async () => {
    let isFull = true
    const { page } = await visit(`${url}/tasks`, {
      expected: /429/,
      before: (opened) =>
        opened.route('**/v1/stream*', (route) =>
          isFull ? route.fulfill({ status: 429, headers: { 'retry-after': '5' } }) : route.continue(),
        ),
    })

    await page.getByText('live updates unavailable').waitFor()
    await create('made while it is full')
    await page.getByText('made while it is full').waitFor()
    const isSaidToBeDown = await page.getByText('The server is not responding.').count()
    isFull = false
    await page.getByText('live', { exact: true }).waitFor()

    expect(isSaidToBeDown).toBe(0)
  })

  test('the dashboard shows that the server is down, and reconnects', async () => {
    const { page } = await visit(`${url}/tasks`, {
      expected: /ERR_|Failed to load|incomplete|Unable to preload|dynamically imported/,
      // A browser of its own, which has not fetched every screen yet.
      colorScheme: 'light',
    })
    await page.getByText('live', { exact: true }).waitFor()

    await node.stop()
    await page.getByText('The server is not responding.').waitFor()
    await page.getByRole('link', { name: 'Nodes' }).click()
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
    node = await startTestNode(database, { port: new URL(url).port })
    await page.getByRole('heading', { name: '64 shards' }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    expect(await page.getByText('The server is not responding.').count()).toBe(0)
  })
}

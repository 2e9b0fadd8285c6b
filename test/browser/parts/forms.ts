/** The form for a task: every field, and changes that were not saved. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

export function forms({ visit }: TestBrowser, { node }: TestServer): void {
  const taskNamed = async (name: string) =>
    (await node.request('GET', `/v1/tasks?q=${encodeURIComponent(name)}`)).body.items[0]

  test('unsaved changes survive a reload, a link and Back, until they are saved or discarded', async () => {
    const { page } = await visit(`${node.url}/tasks/new`)
    const name = page.getByLabel('Name', { exact: true })
    const found = page.getByText('Your unsaved changes were restored.')

    await name.fill('kept in the tab')
    await page.reload()
    await found.waitFor()
    const afterReload = await name.inputValue()
    await page.getByRole('link', { name: 'Nodes' }).click()
    await page.getByRole('heading', { name: '64 shards' }).waitFor()
    await page.goBack()
    await found.waitFor()
    const afterBack = await name.inputValue()
    await page.getByRole('button', { name: 'Start over' }).click()
    await found.waitFor({ state: 'detached' })

    expect([afterReload, afterBack, await name.inputValue()]).toEqual([
      'kept in the tab',
      'kept in the tab',
      '',
    ])
  })

  test('an unsaved edit continues from the version it was based on', async () => {
    const sleep = { type: 'sleep', duration: '1s' }
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'edited in two tabs',
      action: sleep,
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}/edit`, { expected: /412/ })

    await page.getByLabel('Name', { exact: true }).fill('edited here')
    await node.request('PATCH', `/v1/tasks/${task.id}`, { owner: 'somebody else' })
    await page.reload()
    await page.getByText('Your unsaved changes were restored.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Save mine as version 3' }).click()
    await page.getByRole('heading', { name: 'edited here' }).waitFor()
    await page.goBack()
    await page.getByText('No changes yet.').waitFor()

    expect((await node.request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({
      name: 'edited here',
      owner: 'somebody else',
    })
  })

  test('input in a panel survives a reload, a link and Back, until it is submitted or cancelled', async () => {
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'has panels',
      action: { type: 'webhook', url: 'http://127.0.0.1:9/', body: { day: 1 } },
      schedule: { type: 'every', interval: '1h' },
    })
    const { page } = await visit(`${node.url}/settings/blackouts?panel=new`)
    const found = page.getByRole('dialog').getByText('Your unsaved changes were restored.')
    const dialog = page.getByRole('dialog')
    const panels = [
      { address: '/settings/blackouts?panel=new', label: 'Name', text: 'a long freeze' },
      { address: '/settings/subscriptions?panel=new', label: 'URL', text: 'https://example.com/kept' },
      { address: `/tasks/${task.id}?panel=trigger`, label: 'Body', text: '{"day": 2}' },
      { address: `/tasks/${task.id}?panel=backfill`, label: 'Rate', text: '7/s' },
    ]

    for (const { address, label, text } of panels) {
      const field = dialog.getByLabel(label, { exact: label !== 'Rate' })
      await page.goto(node.url + address)
      await field.fill(text)
      await page.reload()
      await found.waitFor()
      const afterReload = await field.inputValue()
      await page.goto(`${node.url}/nodes`)
      await page.getByRole('heading', { name: '64 shards' }).waitFor()
      await page.goBack()
      await found.waitFor()
      const afterBack = await field.inputValue()
      await dialog.getByRole('button', { name: 'Start over' }).click()
      await found.waitFor({ state: 'detached' })
      const afterStartingOver = await field.inputValue()
      await field.fill(text)
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.goto(node.url + address)
      await field.waitFor()

      expect([address, afterReload, afterBack]).toEqual([address, text, text])
      expect(afterStartingOver).not.toBe(text)
      expect([address, await field.inputValue()]).toEqual([address, afterStartingOver])
    }
  })

  test('Back keeps the input of a panel until it is submitted', async () => {
    const { page } = await visit(`${node.url}/settings`)
    const dialog = page.getByRole('dialog')
    const open = () => page.getByRole('button', { name: 'New blackout' }).click()

    await open()
    await dialog.getByLabel('Name').fill('left by Back')
    await dialog.getByText('Every week').click()
    await dialog.getByText('Sat', { exact: true }).click()
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    await open()
    const kept = await dialog.getByLabel('Name').inputValue()
    await dialog.getByRole('button', { name: 'Create blackout' }).click()
    await page.getByText('Blackout left by Back was created.').waitFor()
    await open()
    const afterwards = await dialog.getByLabel('Name').inputValue()
    const { body } = await node.request('GET', '/v1/blackouts')
    for (const { id } of body.items) await node.request('DELETE', `/v1/blackouts/${id}`)

    expect([kept, afterwards]).toEqual(['left by Back', ''])
    expect(body.items).toMatchObject([{ name: 'left by Back', window: { type: 'weekly', days: ['sat'] } }])
  })

  test('leaving the form cancels the test run and deletes its task', async () => {
    const { page } = await visit(`${node.url}/tasks/new`)
    const tests = async () => (await node.request('GET', '/v1/tasks?tag=test')).body.items

    await page.getByText('Sleep', { exact: true }).click()
    await page.getByLabel('Duration').fill('1h')
    await page.getByText('Key, queue, workers, limits and metadata').click()
    await page.getByLabel('Queue', { exact: true }).fill('elsewhere')
    // The page can delete only a task whose id it has been told.
    const isFollowed = page.waitForRequest(/\/v1\/tasks\/[^/]+\/runs/)
    await page.getByRole('button', { name: 'Send a test run' }).click()
    await isFollowed
    const task = await eventually(async () => (await tests())[0])
    const firstRun = async () => (await node.request('GET', `/v1/tasks/${task.id}/runs`)).body.items[0]
    const run = await eventually(firstRun)
    await page.goto('about:blank')
    await eventually(async () => (await tests()).length === 0)
    const stateNow = async () => (await node.request('GET', `/v1/runs/${run.id}`)).body.state
    await eventually(async () => (await stateNow()) === 'cancelled')
    await page.goto(node.url)

    expect(task).toMatchObject({ queue: 'elsewhere' })
  })

  test('the form has every field of an action and of a fixed rate', async () => {
    const sink = await startSink(() => ({ status: 200, body: 'ok' }))
    const { page } = await visit(`${node.url}/tasks/new?when=every`)
    const fill = async (fields: Readonly<Record<string, string>>) => {
      for (const [label, text] of Object.entries(fields))
        await page.getByLabel(label, { exact: true }).fill(text)
    }
    const save = async () => {
      await page.getByRole('button', { name: 'Create paused' }).click()
      await page.getByRole('heading', { name: /^all of/ }).waitFor()
      await page.goBack()
    }

    await page.getByText('HTTP', { exact: true }).click()
    await page.getByText('Redirects and timeouts').click()
    await fill({ Name: 'all of http', URL: sink.url, 'Maximum redirects': '3' })
    await fill({ 'Connection timeout': '2s', 'First-byte timeout': '5s' })
    await fill({ 'Anchor (Berlin)': '2026-01-01T01:15' })
    await save()
    await page.getByText('Slack', { exact: true }).click()
    await fill({ Name: 'all of slack', URL: sink.url, Blocks: '[{"type":"divider"}]' })
    await save()
    await page.getByText('Email', { exact: true }).click()
    await page.getByText('Copies, sender and HTML').click()
    await fill({ Name: 'all of email', To: 'a@example.com', Subject: 'hello', HTML: '<p>hello</p>' })
    await fill({ Cc: 'b@example.com, c@example.com', Bcc: 'd@example.com' })
    await fill({ From: 'e@example.com', 'Reply to': 'f@example.com' })
    await save()

    const http = await taskNamed('all of http')
    expect(http).toMatchObject({
      state: 'paused',
      pausedAt: http.createdAt,
      action: { type: 'http', followRedirects: 3, connectTimeout: '2s', firstByteTimeout: '5s' },
      schedule: { type: 'every', anchor: '2026-01-01T00:15:00.000Z' },
    })
    expect(await taskNamed('all of slack')).toMatchObject({ action: { blocks: [{ type: 'divider' }] } })
    expect((await taskNamed('all of email')).action).toEqual({
      type: 'email',
      to: 'a@example.com',
      cc: ['b@example.com', 'c@example.com'],
      bcc: 'd@example.com',
      from: 'e@example.com',
      replyTo: 'f@example.com',
      subject: 'hello',
      html: '<p>hello</p>',
    })
  })
}

/** The form for a task: every field of it, and what becomes of what was not saved. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

export function forms({ visit }: TestBrowser, { node }: TestServer): void {
  const taskNamed = async (name: string) =>
    (await node.request('GET', `/v1/tasks?q=${encodeURIComponent(name)}`)).body.items[0]

  test('what was not saved is there again after a reload, a link and Back, until it is saved or given up', async () => {
    const { page } = await visit(`${node.url}/tasks/new`)
    const name = page.getByLabel('Name', { exact: true })
    const found = page.getByText('This is what you wrote before and did not save.')

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

  test('an edit that was not saved goes on from the version it was made from', async () => {
    const sleep = { type: 'sleep', duration: '1s' }
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'edited in two tabs',
      action: sleep,
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}/edit`, { expected: /412/ })

    await page.getByLabel('Name', { exact: true }).fill('edited here')
    await node.request('PATCH', `/v1/tasks/${task.id}`, { owner: 'somebody else' })
    await page.reload()
    await page.getByText('This is what you wrote before and did not save.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Save mine as version 3' }).click()
    await page.getByRole('heading', { name: 'edited here' }).waitFor()
    await page.goBack()
    await page.getByText('Nothing is changed yet.').waitFor()

    expect((await node.request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({
      name: 'edited here',
      owner: 'somebody else',
    })
  })

  test('a test run that is left behind is cancelled, and its task is gone', async () => {
    const { page } = await visit(`${node.url}/tasks/new`)
    const tests = async () => (await node.request('GET', '/v1/tasks?tag=test')).body.items

    await page.getByText('Sleep', { exact: true }).click()
    await page.getByLabel('For how long').fill('1h')
    await page.getByText('Key, queue, workers, limits and metadata').click()
    await page.getByLabel('Queue', { exact: true }).fill('elsewhere')
    await page.getByRole('button', { name: 'Send a test run' }).click()
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

  test('the form says all that an action and a fixed rate can say', async () => {
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
    await page.getByText('Redirects, and how long to wait').click()
    await fill({ Name: 'all of http', URL: sink.url, 'Redirects to follow': '3' })
    await fill({ 'Wait for a connection': '2s', 'Wait for the first byte of the answer': '5s' })
    await fill({ 'In step with (Berlin)': '2026-01-01T01:15' })
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

    expect(await taskNamed('all of http')).toMatchObject({
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

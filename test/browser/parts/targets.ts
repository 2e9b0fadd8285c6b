/** Targets in the dashboard: seen, limited, paused and resumed, and named by what waits for them. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

export function targets({ visit }: TestBrowser, { node }: TestServer): void {
  const pathOf = (target: string) => `/v1/targets/${encodeURIComponent(target)}`

  test('a target is limited and paused, and a run that waits for it links to it', async () => {
    const sink = await startSink()
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'call it',
      action: { type: 'ping', url: sink.url },
      schedule: { type: 'manual' },
    })
    const trigger = async () => (await node.request('POST', `/v1/tasks/${task.id}/trigger`)).body
    await trigger()
    await eventually(async () => (await node.request('GET', pathOf(sink.url))).status === 200)
    const { page } = await visit(`${node.url}/targets`)

    await page.getByRole('link', { name: sink.url }).click()
    await page.getByRole('heading', { name: sink.url }).waitFor()
    await page.getByRole('button', { name: 'Set limits…' }).click()
    await page.getByLabel('Calls in progress per node').fill('7')
    await page.getByLabel('Rate').fill('100/m')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText(`7 per node, set for ${sink.url}`).waitFor()
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByLabel('Reason').fill('moving house')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('moving house').waitFor()
    const run = await trigger()
    await page.goto(`${node.url}/runs/${run.id}`)
    await page.getByText('target_paused').waitFor()
    await page.getByRole('link', { name: 'View this target' }).click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause…' }).waitFor()

    await eventually(async () => (await node.request('GET', `/v1/runs/${run.id}`)).body.state === 'completed')
    expect((await node.request('GET', pathOf(sink.url))).body).toMatchObject({
      isPaused: false,
      limit: { perNode: 7, pattern: sink.url },
      rate: { limit: '100/m', burst: null },
    })
  })

  test('a target without calls is shown as unknown', async () => {
    const { page } = await visit(`${node.url}/targets/${encodeURIComponent('https://nobody.example')}`, {
      expected: /404/,
    })

    await page.getByText('Target https://nobody.example is unknown').waitFor()
    await page.getByRole('link', { name: 'All targets' }).click()
    await page.getByRole('heading', { name: 'Targets' }).waitFor()
  })
}

/** Queues in the dashboard: paused, limited, and what waits in them. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestServer } from './server.ts'

export function queues({ visit }: TestBrowser, { node }: TestServer): void {
  test('a queue is paused and limited, shows its waiting runs, and is resumed', async () => {
    await node.request('PATCH', '/v1/queues/letters', { rate: '1000/s' })
    const { page } = await visit(`${node.url}/queues?q=letter`, { expected: /422/ })

    await page.getByRole('button', { name: 'Pause letters' }).click()
    await page.getByText('Queue letters was paused.').waitFor()
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'a letter that waits',
      queue: 'letters',
      action: { type: 'sleep', duration: '0s' },
    })
    const queue = async () => (await node.request('GET', '/v1/queues/letters')).body
    await eventually(async () => (await queue()).waiting === 1)
    await page.getByRole('link', { name: 'letters', exact: true }).click()
    const waiting = page.getByRole('region', { name: 'Waiting runs', exact: true })
    await waiting.getByRole('link', { name: 'a letter that waits' }).waitFor()
    await page.getByRole('button', { name: 'Set limits…' }).click()
    await page.getByLabel('Runs in progress').fill('3')
    await page.getByLabel('Rate').fill('often')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByLabel('Rate').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByRole('alert').getByText('must be a number per second').waitFor()
    await page.getByLabel('Rate').fill('100/s')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('0 / 3').waitFor()

    expect(await queue()).toMatchObject({ isPaused: true, concurrencyLimit: 3, rate: '100/s', burst: null })
    await page.getByRole('button', { name: 'Resume letters' }).click()
    await page.getByText('No runs are waiting').waitFor()
    await eventually(
      async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body.state === 'finished',
    )
  })

  test('a run that waits in a paused queue links to it, and an unknown queue is reported', async () => {
    await node.request('POST', '/v1/queues/shut/pause')
    const { body: task } = await node.request('POST', '/v1/tasks', {
      queue: 'shut',
      action: { type: 'sleep', duration: '0s' },
    })
    await eventually(async () => (await node.request('GET', '/v1/queues/shut')).body.waiting === 1)
    const { page } = await visit(`${node.url}/tasks/${task.id}`, { expected: /404/ })

    await page.getByRole('link', { name: 'View this queue' }).click()
    await page.getByRole('heading', { name: 'shut' }).waitFor()
    await page.goto(`${node.url}/queues/nobody`)
    await page.getByText('Queue nobody does not exist.').waitFor()
    await page.getByRole('link', { name: 'All queues' }).click()
    await page.getByRole('link', { name: 'shut', exact: true }).waitFor()
    await node.request('POST', '/v1/queues/shut/resume')
  })
}

/** Dead letters: grouped by error, rerun one by one or all at once, or dismissed. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

export function letters({ visit }: TestBrowser, { node }: TestServer): void {
  test('dead letters are grouped by failure, and leave the list when they are rerun or dismissed', async () => {
    const broken = { is: true }
    const sink = await startSink(({ path }) =>
      broken.is ? { status: path === '/a' ? 503 : 418, body: 'no' } : { status: 200 },
    )
    const fail = async (name: string, path: string, runs: number) => {
      const { body: task } = await node.request('POST', '/v1/tasks', {
        name,
        action: { type: 'ping', url: `${sink.url}${path}` },
        schedule: { type: 'manual' },
        overlap: 'allow',
        retry: { limit: 0 },
      })
      for (let n = 0; n < runs; n++) await node.request('POST', `/v1/tasks/${task.id}/trigger`)
    }
    await fail('unavailable', '/a', 5)
    await fail('a teapot', '/b', 1)
    const open = async () => (await node.request('GET', '/v1/dead-letters')).body.items.length
    await eventually(async () => (await open()) === 6)
    broken.is = false
    const { page } = await visit(`${node.url}/dead-letters`)
    const groups = page.getByRole('list', { name: 'Groups' }).locator('> li')

    await page.getByText('6 permanently failed runs').waitFor()
    const first = (await groups.first().textContent()) ?? ''
    await groups.first().getByRole('button', { expanded: false }).click()
    const rows = page.getByRole('list', { name: 'Runs of this group' }).getByRole('listitem')
    await rows.nth(4).waitFor()
    await rows.first().getByRole('button', { name: 'Rerun' }).click()
    await page.getByText('5 permanently failed runs').waitFor()
    await groups.first().getByRole('button', { name: 'Rerun…' }).click()
    const panel = page.getByRole('dialog')
    await panel.getByText('4 new runs').waitFor()
    await panel.getByLabel('Runs per second').fill('100')
    const address = page.url()
    await panel.getByRole('button', { name: 'Rerun 4' }).click()
    await page.getByRole('list', { name: 'Redrives' }).getByText('4 rerun at 100/s').waitFor()
    await page.getByText('1 permanently failed run').waitFor()
    await page.getByRole('button', { name: 'Dismiss all…' }).click()
    await panel.getByText('1 run leaves this list').waitFor()
    await panel.getByRole('button', { name: 'Dismiss', exact: true }).click()
    await page.getByText('No dead letters.').waitFor()

    expect(first).toContain('503')
    expect(first).toContain('unavailable')
    expect(address).toContain('panel=redrive')
    expect(await open()).toBe(0)
    await eventually(async () => sink.hits.length === 6 + 5)
  })
}

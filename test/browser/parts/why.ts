/** The page of a task shows why the task is not running, and stays up to date. */
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import type { TestBrowser } from '../../support/browser.ts'
import type { TestServer } from './server.ts'

export function why({ visit }: TestBrowser, { node, db }: TestServer): void {
  test('the ledger of a task shows missing occurrences', async () => {
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'with a gap',
      schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:30:00Z' },
      action: { type: 'sleep', duration: '0s' },
    })
    const { page } = await visit(`${node.url}/tasks/${task.id}?tab=ledger`)
    await page.getByText('All occurrences are accounted for.').waitFor()
    // Nobody recorded anything about the hours since it is said to have been made.
    await db.run(sql`update task set created_at = now() - interval '5 hours' where id = ${task.id}`)

    await page.reload()

    await page.getByText('Some occurrences need attention.').waitFor()
    await page.getByRole('list', { name: 'Occurrences' }).getByText('5 occurrences').waitFor()
    await page.getByRole('list', { name: 'Occurrences' }).getByRole('link', { name: 'why' }).click()
    await page.getByRole('region', { name: 'Why was it not running at that time?' }).waitFor()
  })

  test('the page of a task shows why it is not running and what to do, also for an earlier time', async () => {
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'held up',
      queue: 'closed',
      schedule: { type: 'every', interval: '1h' },
      action: { type: 'sleep', duration: '0s' },
    })
    await node.request('POST', '/v1/queues/closed/pause')
    const { page } = await visit(`${node.url}/tasks/${task.id}`, { expected: /422/ })
    const panel = page.getByRole('region', { name: 'Why is it not running?' })

    await panel.getByText('not_due').waitFor()
    await panel
      .getByRole('list', { name: 'Other causes' })
      .getByText('queue closed has been paused')
      .waitFor()
    await panel.getByRole('button', { name: 'Check an earlier time…' }).click()
    const then = page.getByRole('region', { name: 'Why was it not running at that time?' })
    await then.getByText('not_created').waitFor()
    const asked = new URL(page.url()).searchParams.get('at') ?? ''
    await then.getByLabel('At (Berlin)').fill('2098-01-01T00:00:00')
    await then.getByLabel('At (Berlin)').press('Enter')
    await then.getByText('is in the future').first().waitFor()
    await page.goBack()
    await then.getByText('not_created').waitFor()
    await then.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('button', { name: 'Run now' }).click()
    await panel.getByText('queue_paused').waitFor()
    await panel.getByText('belfry queue resume closed').waitFor()
    await panel.getByRole('link', { name: 'View this run' }).click()
    await page.getByRole('heading', { name: 'held up' }).waitFor()

    expect(Date.parse(asked)).toBeLessThan(Date.now())
  })
}

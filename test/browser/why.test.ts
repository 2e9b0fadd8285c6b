/** A task says on its page why it is not running, and goes on saying what is so. */
import { test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'

const { visit } = await startBrowser()
const node = await startTestNode(await createTestDatabase())

test('the page of a task says why it is not running, what to do, and when that has changed', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    name: 'held up',
    queue: 'closed',
    schedule: { type: 'every', interval: '1h' },
    action: { type: 'sleep', duration: '0s' },
  })
  await node.request('POST', '/v1/queues/closed/pause')
  const { page } = await visit(`${node.url}/tasks/${task.id}`)
  const panel = page.getByRole('region', { name: 'Why is it not running?' })

  await panel.getByText('not_due').waitFor()
  await panel.getByRole('list', { name: 'Also in the way' }).getByText('the queue closed is paused').waitFor()
  await page.getByRole('button', { name: 'Run now' }).click()
  await panel.getByText('queue_paused').waitFor()
  await panel.getByText('/v1/queues/closed/resume').waitFor()
  await panel.getByRole('link', { name: 'Show that run' }).click()
  await page.getByRole('heading', { name: 'held up' }).waitFor()
})

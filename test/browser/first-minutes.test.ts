/** What a newcomer does who never reads a page about the API. */
import { expect, test } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'

const { visit } = await startBrowser()
const node = await startTestNode(await createTestDatabase())

test('a newcomer creates the first task and sees it run', async () => {
  const { page } = await visit(node.url)

  await page.getByRole('heading', { name: 'Nothing is scheduled yet' }).waitFor()
  await page.getByRole('button', { name: 'Create it' }).click()
  await page.getByRole('heading', { name: 'Ring every minute' }).waitFor()
  await page.getByRole('button', { name: 'Run now' }).click()
  await page.getByRole('table', { name: 'Runs' }).getByText('completed').first().waitFor()

  const { body } = await node.request('GET', '/v1/tasks')
  expect(body.items).toMatchObject([
    { name: 'Ring every minute', schedule: { type: 'every', interval: '1m' } },
  ])
})

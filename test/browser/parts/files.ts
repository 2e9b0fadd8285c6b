/** Files in the dashboard: uploaded, looked at, made a task of, and deleted. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import type { TestServer } from './server.ts'

export function files({ visit }: TestBrowser, { node }: TestServer): void {
  const script = (name: string, text: string) => ({
    name,
    mimeType: 'application/x-sh',
    buffer: Buffer.from(`#!/bin/sh\n${text}\n`),
  })

  test('a script is uploaded and used by a new task, and then cannot be deleted', async () => {
    const { page } = await visit(`${node.url}/files`)
    await page.getByLabel('Files to upload').setInputFiles(script('nightly.sh', 'echo done'))
    await page.getByText('Uploaded', { exact: true }).waitFor()

    await page
      .getByRole('region', { name: 'Files', exact: true })
      .getByRole('link', { name: 'nightly.sh' })
      .click()
    await page.getByText('Script, /bin/sh').waitFor()
    await page.getByText('No task uses this file.').waitFor()
    await page.getByRole('link', { name: 'New task with this file' }).click()
    await page.getByLabel('Name', { exact: true }).fill('nightly')
    await page.getByLabel('Arguments').fill('--all\n"two words"')
    await page.getByLabel('Environment').fill('MODE=full')
    await page.getByRole('button', { name: 'Create task', exact: true }).click()
    await page.getByRole('heading', { name: 'nightly' }).waitFor()

    const { body: all } = await node.request('GET', '/v1/files?name=nightly.sh')
    const [file] = all.items
    const { body: found } = await node.request('GET', '/v1/tasks?q=nightly')
    expect(found.items).toMatchObject([
      {
        action: {
          type: 'exec',
          file: file.id,
          args: ['--all', 'two words'],
          env: { MODE: expect.any(String) },
        },
      },
    ])
    await page.goto(`${node.url}/files/${file.id}`)
    await page.getByRole('link', { name: 'nightly' }).waitFor()
    expect(await page.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
  })

  test('of two dropped files, only the empty one is refused', async () => {
    const { page } = await visit(`${node.url}/files`, { expected: /4\d\d/ })

    await page
      .getByLabel('Files to upload')
      .setInputFiles([{ ...script('empty.sh', ''), buffer: Buffer.alloc(0) }, script('full.sh', 'true')])

    await page.getByRole('alert').waitFor()
    await page.getByText('Uploaded', { exact: true }).waitFor()
    const { body } = await node.request('GET', '/v1/files?name=empty.sh')
    expect(body.items).toEqual([])
  })

  test('a file that no task uses is deleted', async () => {
    const { page } = await visit(`${node.url}/files`)
    await page.getByLabel('Files to upload').setInputFiles(script('unused.sh', 'true'))
    await page
      .getByRole('region', { name: 'Files', exact: true })
      .getByRole('link', { name: 'unused.sh' })
      .click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('uploaded twice')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('unused.sh was deleted.').waitFor()

    const { body } = await node.request('GET', '/v1/files?name=unused.sh')
    expect(body.items).toEqual([])
    const { body: log } = await node.request('GET', '/v1/audit-log?action=file.delete')
    expect(log.items[0]).toMatchObject({ reason: 'uploaded twice' })
  })
}

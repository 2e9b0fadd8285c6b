/** What a page of another site can do in the browser of somebody who runs Belfry. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { whenDone } from '../../support/cleanup.ts'
import type { TestServer } from './server.ts'

/** A page at a separate address. */
async function foreignPage(): Promise<string> {
  const server = createServer((_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end('<title>elsewhere</title><link rel="icon" href="data:,">'),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenDone(() => server.close())
  return `http://localhost:${(server.address() as AddressInfo).port}/`
}

export function foreignPages({ visit }: TestBrowser, { node }: TestServer): void {
  test('a page of another site can neither change anything nor read anything', async () => {
    const { page } = await visit(await foreignPage(), { expected: /./ })

    const done = await page.evaluate(async (belfry) => {
      const succeeds = (path: string, options: RequestInit) =>
        fetch(`${belfry}${path}`, options).then(
          () => true,
          () => false,
        )
      await succeeds('/v1/queues/default/pause', { method: 'POST', mode: 'no-cors' })
      await succeeds('/v1/queues/default/pause', { method: 'POST', mode: 'no-cors', body: '{}' })
      const isRead = await succeeds('/v1/tasks', {})
      const isLoaded = await succeeds('/v1/tasks', { mode: 'no-cors' })
      const isFollowed = await new Promise((resolve) => {
        const source = new EventSource(`${belfry}/v1/stream`)
        source.onopen = () => resolve(true)
        source.onerror = () => resolve(false)
      })
      return { isRead, isLoaded, isFollowed }
    }, node.url)
    await page.setContent(
      `<form method=post enctype=text/plain action=${node.url}/v1/queues/default/pause><button>Win`,
    )
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/pause')),
      page.getByRole('button').click(),
    ])

    expect(done).toEqual({ isRead: false, isLoaded: false, isFollowed: false })
    expect(answer.status()).toBe(403)
    const { body } = await node.request('GET', '/v1/queues')
    expect(body.items.filter(({ pausedAt }: { pausedAt: string | null }) => pausedAt !== null)).toEqual([])
  })
}

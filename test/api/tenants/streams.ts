import type { createTestApp } from '../test-app.ts'

/** Opens a stream, which gives access to all that it has carried so far. */
export async function follow(
  app: Awaited<ReturnType<typeof createTestApp>>['app'],
  url: string,
  headers: Record<string, string>,
) {
  const answer = await app.inject({
    method: 'GET',
    url,
    headers: { host: 'localhost', ...headers },
    payloadAsStream: true,
  })
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
  const body = answer.stream()
  const stream = { text: '', close: () => void body.destroy() }
  body.on('data', (chunk) => {
    stream.text += String(chunk)
  })
  return stream
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { DownloadRefused, download } from './download.ts'

/** A server that answers as told, by the number of the request. */
async function serving(
  answer: (count: number, response: ServerResponse, request: IncomingMessage) => void,
): Promise<string> {
  let count = 0
  const server = createServer((request, response) => answer(++count, response, request))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`
}

async function textFrom(url: string, signal = new AbortController().signal): Promise<string> {
  const chunks: Buffer[] = []
  for await (const bytes of download({ urls: [url], ca: null, signal })) chunks.push(bytes)
  return Buffer.concat(chunks).toString()
}

test('a download is retried as long as the server is busy', async () => {
  const url = await serving((count, response) =>
    count <= 8 ? response.writeHead(503, { 'retry-after': '0' }).end() : response.end('a program'),
  )

  expect(await textFrom(url)).toBe('a program')
})

test('a download that waits for a busy server ends with its attempt', async () => {
  const attempt = new AbortController()
  const url = await serving((_, response) => {
    response.writeHead(503, { 'retry-after': '3600' }).end()
    setImmediate(() => attempt.abort())
  })

  await expect(textFrom(url, attempt.signal)).rejects.toThrow()
})

test('a download that breaks off resumes where it stopped', async () => {
  const ranges: unknown[] = []
  const url = await serving((count, response, { headers, socket }) => {
    ranges.push(headers.range)
    if (count > 1) response.writeHead(206).end('gram')
    else response.writeHead(200, { 'content-length': 9 }).write('a pro', () => socket.destroy())
  })

  expect(await textFrom(url)).toBe('a program')
  expect(ranges).toEqual([undefined, 'bytes=5-'])
})

test('a download that breaks off repeatedly resumes as long as more bytes arrive', async () => {
  const url = await serving((count, response, { socket }) => {
    if (count === 9) response.writeHead(206).end('m')
    else
      response
        .writeHead(count === 1 ? 200 : 206, { 'content-length': 10 - count })
        .write('a program'.charAt(count - 1), () => socket.destroy())
  })

  expect(await textFrom(url)).toBe('a program')
})

test('a download that the server refuses is not retried', async () => {
  let asked = 0
  const url = await serving((count, response) => {
    asked = count
    response.writeHead(401).end()
  })

  await expect(textFrom(url)).rejects.toThrow(DownloadRefused)
  expect(asked).toBe(1)
})

/** Uploading and downloading as clients do, on real sockets. */
import { createHash, randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { CHUNK_BYTES } from '../../src/core/file/file.ts'
import { eventually } from '../support/eventually.ts'
import type { Answer } from '../support/request.ts'

type Request = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

/** A node, as far as files need one. */
export interface FileNode {
  readonly url: string
  readonly request: Request
}

export const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')
export const someBytes = (length = 2 * CHUNK_BYTES + 1_000) => randomBytes(length)

export const rangeOf = (from: number, bytes: Buffer, total: number | '*') => ({
  'content-range': `bytes ${from}-${from + bytes.length - 1}/${total}`,
})

/** Sends bytes to an address, which may be a path of the node. */
export async function put(
  node: FileNode,
  address: string,
  bytes: Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(new URL(address, node.url), {
    method: 'PUT',
    body: new Uint8Array(bytes),
    headers,
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

/** The same without a length in front, as a program sends what it reads from a pipe. */
export async function putPieces(
  node: FileNode,
  address: string,
  pieces: Iterable<Buffer>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(new URL(address, node.url), {
    method: 'PUT',
    body: ReadableStream.from(pieces),
    headers,
    duplex: 'half',
  } as unknown as RequestInit)
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

/** Sends the first of so many bytes, waits until some are stored, and lets the connection go. */
export async function putAndBreak(
  node: FileNode,
  address: string,
  bytes: Buffer,
  { stored, id }: { readonly stored: number; readonly id: string },
): Promise<void> {
  const { hostname, port, pathname, search } = new URL(address, node.url)
  const headers = { 'content-length': bytes.length }
  const sending = httpRequest({ hostname, port, path: pathname + search, method: 'PUT', headers })
  sending.on('error', () => {})
  sending.write(bytes.subarray(0, stored + 100))
  await eventually(
    async () => (await node.request('GET', `/v1/files/${id}`)).body.receivedBytes === stored || undefined,
  )
  sending.destroy()
}

/** A file that is announced, and waits for its upload. */
export async function aWaitingFile(
  node: FileNode,
  announced: Record<string, unknown> = {},
): Promise<{ id: string; uploadUrl: string }> {
  const { body } = await node.request('POST', '/v1/files', { name: 'program', ...announced })
  return body
}

/** A file that is ready. */
export async function aFile(node: FileNode, bytes: Buffer, name = 'program'): Promise<string> {
  const { id, uploadUrl } = await aWaitingFile(node, { name })
  await put(node, uploadUrl, bytes)
  return id
}

export async function download(
  node: FileNode,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const answer = await fetch(new URL(path, node.url), { headers })
  return {
    status: answer.status,
    headers: answer.headers,
    bytes: Buffer.from(await answer.arrayBuffer()),
  }
}

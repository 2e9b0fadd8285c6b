/** Files on the command line: the real program against a real server, also over connections that break. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHUNK_BYTES } from '../../src/core/file/file.ts'
import { sha256, someBytes } from '../files/support.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, launch, runBelfry } from '../support/process.ts'

const node = await startTestNode(await createTestDatabase(), { roles: 'api' })
const directory = aDirectory()
const env = { BELFRY_URL: node.url }
const belfry = (...args: string[]) => runBelfry(args, { env, cwd: directory })
const list = async (query = '') => (await node.request('GET', `/v1/files${query}`)).body.items

function aLocalFile(name: string, bytes: Buffer | string): string {
  writeFileSync(join(directory, name), bytes)
  return name
}

/** A way to the node on which each connection breaks after so many bytes of one direction, or stands still. */
async function startWire(
  passing: (connection: number) => { up?: number; down?: number; isStill?: boolean },
): Promise<string> {
  const { hostname, port } = new URL(node.url)
  const sockets = new Set<Socket>()
  let connections = 0
  const wire = createServer((client) => {
    const {
      up = Number.POSITIVE_INFINITY,
      down = Number.POSITIVE_INFINITY,
      isStill = false,
    } = passing(connections++)
    const server = connect(Number(port), hostname)
    const pass = (from: Socket, to: Socket, most: number) => {
      let passed = 0
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      from.on('data', (bytes: Buffer) => {
        to.write(bytes.subarray(0, Math.max(0, most - passed)))
        passed += bytes.length
        if (passed < most) return
        if (isStill) from.pause()
        else to.end(() => from.destroy())
      })
    }
    pass(client, server, up)
    pass(server, client, down)
  })
  await new Promise<void>((resolve) => void wire.listen(0, '127.0.0.1', resolve))
  whenDone(() => {
    for (const socket of sockets) socket.destroy()
    wire.close()
  })
  return `http://127.0.0.1:${(wire.address() as AddressInfo).port}`
}

test('a file is uploaded, listed, shown, downloaded and deleted', async () => {
  const script = '#!/bin/sh\necho hello\n'
  aLocalFile('hello.sh', script)

  const none = await belfry('file', 'list')
  const uploaded = await belfry('file', 'upload', 'hello.sh')
  const again = await belfry('files', 'upload', 'hello.sh', '--name', 'copy.sh', '--json')
  const [listed, shown, prefix] = await Promise.all([
    belfry('file', 'ls'),
    belfry('file', 'show', 'hello.sh'),
    belfry('file', 'show', JSON.parse(again.stdout).id.slice(0, 30), '--field', 'name'),
  ])
  const downloaded = await belfry('file', 'download', 'hello.sh', '--output', 'back.sh')
  const [exists, piped] = await Promise.all([
    belfry('file', 'download', 'hello.sh'),
    belfry('file', 'download', 'copy.sh', '-o', '-'),
  ])
  const unasked = await belfry('file', 'delete', 'hello.sh')
  const deleted = await belfry('file', 'delete', 'hello.sh', '--yes')
  const gone = await belfry('file', 'show', 'hello.sh')

  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('belfry file upload') })
  expect(uploaded.stdout).toMatch(/^✓ file hello\.sh is ready: 21 bytes, script\n {2}id {2}[0-9a-f-]{36}\n$/)
  expect(JSON.parse(again.stdout)).toMatchObject({ name: 'copy.sh', state: 'ready', sha256: sha256(script) })
  expect(listed.stdout).toMatch(/^NAME +STATE +SIZE +KIND +CREATED +ID\ncopy\.sh +ready +21 bytes +script /)
  expect(shown.stdout).toMatch(/state +ready\n.*interpreter +\/bin\/sh\n.*used by +no task\n$/s)
  expect(prefix.stdout).toBe('copy.sh\n')
  expect(downloaded.stdout).toBe('✓ back.sh: 21 bytes, script\n')
  expect(readFileSync(join(directory, 'back.sh'), 'utf8')).toBe(script)
  expect(exists).toMatchObject({ code: 5, stderr: expect.stringContaining('--force') })
  expect(piped.stdout).toBe(script)
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(deleted.stdout).toBe('✓ file hello.sh deleted\n')
  expect(gone).toMatchObject({ code: 3, stderr: expect.stringContaining('belfry file list') })
})

test('invalid uploads and unknown or ambiguous files are refused with a clear message', async () => {
  aLocalFile('empty', '')
  aLocalFile('full', 'x')
  for (const size of [1, 2]) await node.request('POST', '/v1/files', { name: 'twice', size })

  const [missing, folder, empty, badName, badState, twice, unfinished] = await Promise.all([
    belfry('file', 'upload', 'missing'),
    belfry('file', 'upload', '.'),
    belfry('file', 'upload', 'empty'),
    belfry('file', 'upload', 'full', '--name', 'a/b'),
    belfry('file', 'list', '--state', 'gone'),
    belfry('file', 'show', 'twice'),
    belfry('file', 'download', (await list('?name=twice'))[0].id),
  ])

  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot read missing') })
  expect(folder).toMatchObject({ code: 2, stderr: expect.stringContaining('not a regular file') })
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('empty is empty') })
  expect(badName).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--name: must not contain slashes'),
  })
  expect(badState).toMatchObject({ code: 2, stderr: expect.stringContaining('--state: ') })
  expect(twice).toMatchObject({ code: 5, stderr: expect.stringContaining('2 files have the name') })
  expect(unfinished).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('0 bytes of 2 bytes received'),
  })
})

test('an upload completes over a connection that breaks repeatedly', async () => {
  const bytes = someBytes(6 * CHUNK_BYTES + 1_000)
  aLocalFile('frail', bytes)
  // What is asked before the upload shares its first connection.
  const url = await startWire((n) => (n < 4 ? { up: 1.5 * CHUNK_BYTES } : {}))

  const uploaded = await runBelfry(['file', 'upload', 'frail', '--server', url], { cwd: directory })

  expect(uploaded).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ file frail is ready') })
  expect(uploaded.stderr).toContain('Uploading')
  expect(await list('?name=frail')).toMatchObject([{ state: 'ready', sha256: sha256(bytes) }])
})

test('an interrupted upload continues when the command is repeated', async () => {
  const bytes = someBytes(5 * CHUNK_BYTES)
  aLocalFile('killed', bytes)
  const url = await startWire(() => ({ up: 2.5 * CHUNK_BYTES, isStill: true }))
  const first = launch(['file', 'upload', 'killed', '--server', url], { cwd: directory })
  const [waiting] = await eventually(async () => {
    const found = await list('?name=killed')
    return found[0]?.receivedBytes >= 2 * CHUNK_BYTES ? found : undefined
  })
  first.kill('SIGINT')
  await first.exited

  const second = await belfry('file', 'upload', 'killed')

  expect(second.code).toBe(0)
  expect(await list('?name=killed')).toMatchObject([
    { id: waiting.id, state: 'ready', sha256: sha256(bytes) },
  ])
})

test('a download continues after a broken connection, and a failed one leaves no file', async () => {
  const bytes = someBytes(6 * CHUNK_BYTES)
  aLocalFile('large', bytes)
  await belfry('file', 'upload', 'large')
  const frail = await startWire((n) => (n < 3 ? { down: 2 * CHUNK_BYTES } : {}))
  const broken = await startWire((n) => (n === 0 ? { down: 2 * CHUNK_BYTES } : { down: 1 }))

  const download = (server: string, output: string) =>
    runBelfry(['file', 'download', 'large', '--server', server, '--output', output], { cwd: directory })
  const [continued, failed] = await Promise.all([download(frail, 'whole'), download(broken, 'none')])

  expect(continued.code).toBe(0)
  expect(readFileSync(join(directory, 'whole')).equals(bytes)).toBe(true)
  expect(failed.code).toBe(6)
  expect([existsSync(join(directory, 'none')), existsSync(join(directory, 'none.part'))]).toEqual([
    false,
    false,
  ])
})

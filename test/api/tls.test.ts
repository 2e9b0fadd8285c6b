/** A node that speaks TLS: what it refuses, who can talk to it, and how its certificate is replaced. */
import { once } from 'node:events'
import { copyFileSync, readFileSync, renameSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Worker } from '../../src/sdk/worker.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aDirectory, runBelfry } from '../support/process.ts'

const FIXTURES = fileURLToPath(new URL('../support/certificates/', import.meta.url))
const directory = aDirectory()
const tlsCert = join(directory, 'tls.crt')
const tlsKey = join(directory, 'tls.key')

/** Replaces both files in the way of those who renew certificates: by renaming. */
function put(name: 'first' | 'second') {
  for (const [fixture, path] of [
    [`${name}.pem`, tlsCert],
    [`${name}-key.pem`, tlsKey],
  ] as const) {
    copyFileSync(join(FIXTURES, fixture), `${path}.new`)
    renameSync(`${path}.new`, path)
  }
}
put('first')
const ca = ['first', 'second'].map((name) => readFileSync(join(FIXTURES, `${name}.pem`), 'utf8'))

const database = await createTestDatabase()
const node = await startTestNode(database, { tlsCert, tlsKey })
const { hostname, port } = new URL(node.url)

interface Heard {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail where it is not there.
  readonly body: any
}

/** Asks with a certificate authority of our own, on a connection that is kept if an agent is given. */
function ask(url: string, options: https.RequestOptions & { json?: unknown } = {}): Promise<Heard> {
  const { json, ...rest } = options
  return new Promise((resolve, reject) => {
    const headers = json === undefined ? {} : { 'content-type': 'application/json' }
    const sent = https.request(url, { ca, headers, ...rest }, async (answer) => {
      const text = Buffer.concat(await answer.toArray()).toString()
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: text === '' ? null : JSON.parse(text),
      })
    })
    sent.on('error', reject)
    sent.end(json === undefined ? undefined : JSON.stringify(json))
  })
}

/** The serial number of the certificate that a new connection is shown. */
async function shown(): Promise<string> {
  const socket = connectTls({ host: hostname, port: Number(port), ca, servername: 'localhost' })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

/** How a connection begins: with a handshake, or with an error. */
const said = (socket: TLSSocket) =>
  new Promise<string | undefined>((resolve) => {
    socket.on('secureConnect', () => resolve('connected'))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
  })

test('a node accepts TLS 1.2 and later, and neither older versions nor plain HTTP', async () => {
  const versions = await Promise.all(
    (['TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as SecureVersion[]).map((version) => {
      const socket = connectTls({
        host: hostname,
        port: Number(port),
        ca,
        servername: 'localhost',
        minVersion: version,
        maxVersion: version,
        ciphers: 'DEFAULT@SECLEVEL=0',
      })
      return said(socket).finally(() => socket.destroy())
    }),
  )
  const plain = new Promise((resolve) => {
    http.get(`http://${hostname}:${port}/healthz`, resolve).on('error', (error) => resolve(error))
  })

  expect(node.url).toMatch(/^https:\/\//)
  expect((await ask(`${node.url}/readyz`)).status).toBe(200)
  expect(versions).toEqual([expect.stringMatching(/ALERT|PROTOCOL|ECONNRESET/), 'connected', 'connected'])
  expect(await plain).toBeInstanceOf(Error)
})

test('pages of the https origin can make changes, pages of the http origin cannot', async () => {
  const preview = (origin: string) =>
    ask(`${node.url}/v1/schedules/preview`, {
      method: 'POST',
      json: { schedule: 'every 5m' },
      headers: { 'content-type': 'application/json', origin },
    })

  expect((await preview(node.url)).status).toBe(200)
  expect((await preview(node.url.replace('https', 'http'))).body.code).toBe('foreign_origin')
})

test('the command line and a worker trust a certificate authority only if it is configured', async () => {
  const caFile = join(FIXTURES, 'first.pem')
  const warnings: string[] = []
  const worker = new Worker({
    server: node.url,
    ca: ca.join('\n'),
    log: (level, message) => void (level === 'info' || warnings.push(message)),
  }).handle('greet', () => 'hello')
  await worker.start()
  const flags = ['--server', node.url, '--ca-file', caFile]

  const strangers = await runBelfry(['task', 'list', '--server', node.url])
  const made = await runBelfry(['task', 'create', '--action', 'handler:greet', '--field', 'id', ...flags])
  const { body: run } = await eventually(async () => {
    const { body } = await ask(`${node.url}/v1/tasks/${made.stdout.trim()}/runs`)
    const [ended] = body.items
    return ended?.endedAt != null && { body: ended }
  })
  await worker.stop()

  expect(strangers.code).toBe(6)
  expect(strangers.stderr).toMatch(/certificate of .* is not trusted .*\n.*--ca-file/)
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(run).toMatchObject({ state: 'completed', output: { result: 'hello' } })
  expect(warnings).toEqual([])
})

test('a task does not reach the API of its own node over https', async () => {
  const { body: task } = await ask(`${node.url}/v1/tasks`, {
    method: 'POST',
    json: { action: { type: 'webhook', url: `${node.url}/v1/queues/default/pause` }, retry: { limit: 0 } },
  })

  const error = await eventually(async () => {
    const { body } = await ask(`${node.url}/v1/tasks/${task.id}/runs`)
    return body.items[0]?.error
  })

  expect(error).toMatchObject({ code: 'forbidden_address' })
})

test('a replaced certificate applies to new connections, and open ones continue', async () => {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  const sockets = new Set<unknown>()
  const onOld = async () => {
    const answer = await ask(`${node.url}/healthz`, { agent })
    for (const socket of Object.values(agent.freeSockets).flat()) sockets.add(socket)
    return answer
  }
  await onOld()
  const before = await shown()

  put('second')
  await eventually(async () => {
    await onOld()
    return (await shown()) !== before
  })

  expect((await onOld()).status).toBe(200)
  expect(sockets.size).toBe(1)
  agent.destroy()
})

test('a node without the role api also serves its health over TLS', async () => {
  const quiet = await startTestNode(database, { roles: 'liveness', tlsCert, tlsKey })

  expect(await ask(`${quiet.url}/readyz`)).toMatchObject({ status: 200, body: { status: 'ready' } })
})

test('a node does not start without a matching certificate and key', async () => {
  const start = (...flags: string[]) => runBelfry(['start', '--data-dir', join(directory, 'data'), ...flags])

  const half = await start('--tls-cert', tlsCert)
  const wrong = await start('--tls-cert', tlsCert, '--tls-key', join(FIXTURES, 'first-key.pem'))

  expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining('without --tls-key') })
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not belong to the certificate'),
  })
})

test('a node stops despite idle connections and unfinished handshakes', async () => {
  // So that nothing but the stop closes connections that send nothing.
  const limits = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 }
  const stopping = await startTestNode(database, { roles: 'api', tlsCert, tlsKey, ...limits })
  const at = { host: hostname, port: Number(new URL(stopping.url).port) }
  const silent = connect(at)
  const idle = connectTls({ ...at, ca, servername: 'localhost' })
  silent.on('error', () => {})
  idle.on('error', () => {})
  await Promise.all([once(silent, 'connect'), once(idle, 'secureConnect')])

  const closed = Promise.all(
    [silent, idle].map((socket) => new Promise((resolve) => void socket.resume().once('close', resolve))),
  )
  await stopping.stop()

  await closed
})

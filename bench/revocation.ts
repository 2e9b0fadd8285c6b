import { randomBytes } from 'node:crypto'
import { type BelfryNode, startNodes } from './support/belfry.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, startPostgres } from './support/postgres.ts'

interface Row {
  readonly what: string
  /** What the documentation promises, in milliseconds. */
  readonly promised: number
  readonly took: Percentiles
}

const PROMISED_MS = 2_000
const CLAIM_WAIT_MS = 20_000

await benchmark({
  name: 'revocation',
  question: 'How soon do two nodes end what uses a key when it is revoked?',
  options: {
    keys: whole(10, 'Keys that are revoked one after another'),
    streams: whole(80, 'Streams of each key, half of them on each node'),
    claims: whole(20, 'Waiting claims of workers of each key, likewise'),
  },
  run: async ({ keys, streams, claims }, report) => {
    const server = await startPostgres()
    const database = await createBelfryDatabase(server, 'bench_revocation')
    const admin = randomBytes(32).toString('hex')
    process.env['BELFRY_ADMIN_KEY'] = admin
    const nodes = await startNodes(2, database.url)
    const at = (i: number) => nodes[i % nodes.length] as BelfryNode

    const ended: number[] = []
    const refused: number[] = []
    for (let n = 0; n < keys; n++) {
      report.step(`key ${n + 1} of ${keys}`)
      const made = await said(at(0), admin, 'POST', '/v1/keys', {
        ...{ name: `bench ${n}`, role: 'admin', project: 'default' },
      })
      const key = made['key'] as string
      const opened = await Promise.all(Array.from({ length: streams }, (_, i) => openStream(at(i), key)))
      const waiting = await Promise.all(Array.from({ length: claims }, (_, i) => waitingClaim(at(i), key)))
      await said(at(n), admin, 'DELETE', `/v1/keys/${made['id']}`)
      const revokedAt = performance.now()
      const since = () => performance.now() - revokedAt
      refused.push(...(await Promise.all(nodes.map((node) => untilRefused(node, key).then(since)))))
      ended.push(...(await Promise.all([...opened, ...waiting].map((one) => one.ended.then(since)))))
    }
    report.table<Row>(
      'rows',
      'Milliseconds after the response to the revocation',
      [
        { title: 'what', of: (row) => row.what },
        { title: 'promised', of: (row) => row.promised },
        ...percentileColumns<Row>('took', (row) => row.took),
      ],
      [
        { what: 'a node refuses requests', promised: PROMISED_MS, took: percentilesOf(refused) },
        { what: 'a stream or claim ends', promised: PROMISED_MS, took: percentilesOf(ended) },
      ],
    )
  },
})

function ask({ url }: BelfryNode, key: string, method: string, path: string, body?: unknown) {
  return fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function said(...asked: Parameters<typeof ask>): Promise<Record<string, unknown>> {
  const response = await ask(...asked)
  const text = await response.text()
  if (!response.ok) throw new Error(`${asked[2]} ${asked[3]} was answered with ${response.status}: ${text}`)
  return text === '' ? {} : JSON.parse(text)
}

/** Resolves when the stream is open. */
async function openStream(node: BelfryNode, key: string) {
  const response = await ask(node, key, 'GET', '/v1/stream')
  if (!response.ok) throw new Error(`A stream was answered with ${response.status}.`)
  return { ended: response.text().catch(() => '') }
}

/** A claim of a worker that the key has registered; there is nothing to claim. */
async function waitingClaim(node: BelfryNode, key: string) {
  const { token } = await said(node, key, 'POST', '/v1/worker/register', { handlers: ['none'] })
  const claim = { requestId: crypto.randomUUID(), limit: 1, waitMs: CLAIM_WAIT_MS }
  const ended = ask(node, token as string, 'POST', '/v1/worker/claim', claim)
  return { ended: ended.then((response) => response.text()).catch(() => '') }
}

async function untilRefused(node: BelfryNode, key: string): Promise<void> {
  for (;;) if ((await ask(node, key, 'GET', '/v1/tasks?limit=1')).status === 401) return
}

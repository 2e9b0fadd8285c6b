/** A whole node in this process, on a test database: the same wiring that the command line uses. */
import { fileURLToPath } from 'node:url'
import { type Node, startNode } from '../../src/node/node.ts'
import { readConfig } from '../../src/runtime/config/config.ts'
import type { Database } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { IS_BALANCED, startBalancer } from './balancer.ts'
import { SLOW_DATABASE_MS } from './cadence.ts'
import { whenDone } from './cleanup.ts'
import { type Answer, request } from './request.ts'
import { TEST_KEY } from './vault.ts'

export { type Answer, request } from './request.ts'

const DASHBOARD = fileURLToPath(new URL('../../dist/web', import.meta.url))

export interface TestNode extends Node {
  readonly url: string
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

type TestDatabase = { readonly url: string; readonly db: Database }
type Flags = Readonly<Record<string, unknown>>

/** Starts one node; if tests use two servers in turn, also starts another node with the API, and a balancer in front of both. */
export async function startTestNode(database: TestDatabase, flags: Flags = {}): Promise<TestNode> {
  const node = await startOneNode(database, flags)
  if (!IS_BALANCED || !isBalanceable(flags)) return node
  const other = await startOneNode(database, { ...flags, roles: 'api' })
  const { url, servers } = await startBalancer()
  servers.push(node.url, other.url)
  return {
    ...node,
    url,
    stop: async () => void (await Promise.all([node.stop(), other.stop()])),
    request: (method, path, body, headers) => request(url, method, path, body, headers),
  }
}

/** Whether a node can be behind the balancer: one with a given port, or with TLS, has clients that connect to it directly. */
const isBalanceable = ({ roles, port, tlsCert }: Flags) =>
  (roles === undefined || String(roles).includes('api')) && port === undefined && tlsCert === undefined

/**
 * Starts a single node even under the balancer: for tests of its connections, sockets and memory, or of what only this node has
 * noticed.
 */
export async function startOneNode(database: TestDatabase, flags: Flags = {}): Promise<TestNode> {
  const config = readConfig({
    flags: {
      ...{ port: 0, secretsKey: TEST_KEY, exec: 'off', slowDatabaseMs: SLOW_DATABASE_MS },
      ...addressesFor(flags),
      ...flags,
    },
    env: {},
    file: null,
    cwd: '/',
  })
  const node = await startNode({
    config,
    db: database.db,
    databaseUrl: database.url,
    databasePlace: 'the test database',
    isEmbedded: false,
    ownKeyFile: null,
    version: '0.0.0-test',
    dashboardDir: DASHBOARD,
    log: silentLogger(),
    lastMigration: Number.MAX_SAFE_INTEGER,
    onTooOld: (reason) => {
      throw new Error(reason)
    },
    onDeclaredDead: () => {
      throw new Error('the test node was declared dead')
    },
  })
  const { url } = node
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= node.stop()
    return stopped
  }
  whenDone(stop)
  return {
    ...node,
    url,
    stop,
    request: (method, path, body, headers) => request(url, method, path, body, headers),
  }
}

/** Receivers of tests are on this machine, which nodes without the API do not call unless they are told to. */
const addressesFor = ({ roles }: Flags) =>
  roles === undefined || String(roles).includes('api') ? {} : { privateAddresses: 'allow' }

/** Creates a task that does nothing and runs when it is triggered, any number of times at once; answers its id. */
export async function aManualTask(
  node: Pick<TestNode, 'request'>,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const action = { type: 'sleep', duration: '0s' }
  const task = { action, schedule: { type: 'manual' }, overlap: 'allow', ...fields }
  return (await node.request('POST', '/v1/tasks', task)).body.id
}

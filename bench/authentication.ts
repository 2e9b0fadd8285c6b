/**
 * Measures what authentication costs a request whose key is known, by calling the hooks that every request passes, without HTTP
 * around them.
 */
import { randomBytes } from 'node:crypto'
import { authenticateRequests } from '../src/api/http/authentication.ts'
import { keyAuthenticator } from '../src/api/http/key-authenticator.ts'
import { makeApiKey } from '../src/core/access/api-key.ts'
import { KeyBook } from '../src/operations/keys/key-book.ts'
import { ProjectBook } from '../src/operations/projects/project-book.ts'
import { silentLogger } from '../src/telemetry/logger.ts'
import { LocalWakeUps } from '../src/transport/wake-ups.ts'

const ROUNDS = 5
const REQUESTS = 200_000
const MAX_US = 15
const PROJECT = '01900000-0000-7000-8000-000000000001'

type Hook = (request: unknown, reply: unknown, done?: () => void) => Promise<void> | undefined

const row = { id: PROJECT, name: 'bench', role: 'editor', projectId: PROJECT, queues: null, networks: null }
const project = { id: PROJECT, name: 'bench', isArchived: false }
const db = { run: async ({ text }: { text: string }) => [text.includes('api_key') ? row : project] } as never
const keys = new KeyBook({
  db,
  wakeUps: new LocalWakeUps(),
  clock: { now: () => Date.now() },
  log: silentLogger(),
  adminKey: null,
  isLoopback: false,
})
const hooks = new Map<string, Hook>()
const app = {
  addHook: (name: string, added: Hook) => void hooks.set(name, added),
  decorate: () => {},
  decorateRequest: () => {},
}
const noWorkers = () => Promise.reject(new Error('no workers here'))
authenticateRequests(app as never, {
  facilities: { db, wakeUps: new LocalWakeUps() } as never,
  keys,
  projects: new ProjectBook({ db, wakeUps: new LocalWakeUps() }),
  authenticators: [keyAuthenticator(keys)],
  remoteWorkers: { authenticate: noWorkers, find: noWorkers },
  count: async () => {},
})

const authorization = `Bearer ${makeApiKey(randomBytes)}`
const request = () => ({
  headers: { authorization },
  query: {},
  ip: '127.0.0.1',
  id: PROJECT,
  is404: false,
  routeOptions: { config: { access: 'edit' } },
})

let bestUs = Number.POSITIVE_INFINITY
for (let round = 0; round < ROUNDS; round++) {
  const cpu = process.cpuUsage()
  for (let n = 0; n < REQUESTS; n++) {
    const one = request()
    await hooks.get('onRequest')?.(one, {})
    await new Promise<void>((resolve) => hooks.get('preHandler')?.(one, {}, resolve))
  }
  const { user, system } = process.cpuUsage(cpu)
  const us = (user + system) / REQUESTS
  bestUs = Math.min(bestUs, us)
  console.log(`round ${round + 1}: ${us.toFixed(2)} µs of CPU a request`)
}
console.log(`${bestUs <= MAX_US ? 'within' : 'BEYOND'} the ${MAX_US} µs that authentication may cost`)
if (bestUs > MAX_US) process.exitCode = 1

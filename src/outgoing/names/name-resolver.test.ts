/** Names are resolved by a real name server on loopback; none of them can hold up another. */
import { pbkdf2 } from 'node:crypto'
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aNameServer, type Question, type Reply } from '../../../test/support/name-server.ts'
import { aDirectory } from '../../../test/support/process.ts'
import { MAX_TTL_MS, MIN_TTL_MS, NEGATIVE_TTL_MS } from './name-lookup.ts'
import { NameResolver } from './name-resolver.ts'

const NOWHERE = '/nonexistent'
const HEALTHY = { addresses: ['192.0.2.7'] }
const four = (...addresses: string[]) => addresses.map((address) => ({ address, family: 4 }))
const failed = (code: string) => ({ code })

interface Files {
  readonly hosts?: string
  readonly resolvConf?: string
}

/** A resolver that knows nothing but a name server, and a clock that stands still until it is moved. */
async function resolverWith(
  reply: (question: Question) => Reply,
  { hosts = '', resolvConf = '' }: Files = {},
) {
  const { server, questions } = await aNameServer(reply)
  const dir = aDirectory()
  const files = { hosts: join(dir, 'hosts'), resolvConf: join(dir, 'resolv.conf') }
  await writeFile(files.hosts, hosts)
  await writeFile(files.resolvConf, resolvConf)
  let now = 0
  const resolver = new NameResolver({
    servers: [server],
    hostsFile: files.hosts,
    resolvConf: files.resolvConf,
    nsswitchConf: NOWHERE,
    now: () => now,
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { resolver, questions, files, pass, resolve: (name: string) => resolver.resolve(name) }
}

test('fifty names that hang delay neither another name nor the thread pool', async () => {
  const { resolve } = await resolverWith(({ name }) => (name.startsWith('hang') ? undefined : HEALTHY))
  let ended = 0
  const hanging = Array.from({ length: 50 }, (_, i) => resolve(`hang${i}.example.com`))
  for (const name of hanging) void name.then(() => ended++)

  const answer = await resolve('healthy.example.com')
  await Promise.all([readFile(import.meta.filename), promisify(pbkdf2)('x', 'y', 1, 8, 'sha256')])

  expect(answer).toEqual(four('192.0.2.7'))
  expect(ended).toBe(0)
  expect(await Promise.all(hanging)).toEqual(hanging.map(() => failed('EAI_AGAIN')))
})

test('concurrent lookups of a name share one query', async () => {
  const { resolve, questions } = await resolverWith(() => HEALTHY)

  const answers = await Promise.all(Array.from({ length: 20 }, () => resolve('api.example.com')))

  expect(answers).toEqual(answers.map(() => four('192.0.2.7')))
  expect(questions.map(({ type }) => type).sort()).toEqual(['A', 'AAAA'])
})

test('an answer is kept for its time to live and then looked up again', async () => {
  let address = '192.0.2.1'
  const { resolve, pass } = await resolverWith(() => ({ addresses: [address], ttl: 5 }))
  await resolve('api.example.com')

  address = '192.0.2.2'
  pass(4_999)
  expect(await resolve('API.example.com')).toEqual(four('192.0.2.1'))
  pass(1)
  expect(await resolve('api.example.com')).toEqual(four('192.0.2.2'))
})

test.each([
  ['no time at all', 0, MIN_TTL_MS],
  ['a day', 86_400, MAX_TTL_MS],
])('an answer that is good for %s is kept within bounds', async (_, ttl, keptMs) => {
  const { resolve, pass, questions } = await resolverWith(() => ({ ...HEALTHY, ttl }))
  await resolve('api.example.com')

  pass(keptMs - 1)
  await resolve('api.example.com')
  expect(questions).toHaveLength(2)
  pass(1)
  await resolve('api.example.com')
  expect(questions).toHaveLength(4)
})

test('a name is looked up again after a failed connection', async () => {
  const { resolver, resolve, pass, questions } = await resolverWith(() => HEALTHY)
  await resolve('api.example.com')

  resolver.forget('api.example.com')
  await resolve('api.example.com')
  // Not at once: a burst of refused connections would be a burst of questions.
  expect(questions).toHaveLength(2)

  pass(MIN_TTL_MS)
  resolver.forget('api.example.com')
  await resolve('api.example.com')
  expect(questions).toHaveLength(4)
})

test('a missing name is remembered for a moment', async () => {
  let reply: Reply = { code: 'NXDOMAIN' }
  const { resolve, pass } = await resolverWith(() => reply)

  expect(await resolve('new.example.com')).toEqual(failed('ENOTFOUND'))
  reply = HEALTHY
  expect(await resolve('new.example.com')).toEqual(failed('ENOTFOUND'))
  pass(NEGATIVE_TTL_MS)
  expect(await resolve('new.example.com')).toEqual(four('192.0.2.7'))
})

test.each<[string, Reply, string]>([
  ['a name without addresses does not exist', { addresses: [] }, 'ENOTFOUND'],
  ['a server that failed has not answered', { code: 'SERVFAIL' }, 'EAI_AGAIN'],
  ['a server that refuses has not answered', { code: 'REFUSED' }, 'EAI_AGAIN'],
  ['garbage is no answer', { bytes: Buffer.from('this is not what anybody asked for') }, 'EAI_AGAIN'],
])('%s', async (_, reply, code) => {
  const { resolve } = await resolverWith(() => reply)

  expect(await resolve('api.example.com')).toEqual(failed(code))
})

test('a name with an invalid label does not exist', async () => {
  const { resolve } = await resolverWith(() => HEALTHY)

  expect(await resolve(`${'x'.repeat(70)}.example.com`)).toEqual(failed('ENOTFOUND'))
})

test('an answer too long for a datagram is requested over TCP', async () => {
  const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`)
  const { resolve } = await resolverWith(({ transport }) => ({ addresses, isTruncated: transport === 'udp' }))

  expect(await resolve('many.example.com')).toHaveLength(100)
})

test('an invalid answer for one name does not affect other names', async () => {
  const { resolve } = await resolverWith(({ name }) =>
    name.startsWith('bad') ? { bytes: Buffer.from('garbage') } : HEALTHY,
  )

  const [bad, good] = await Promise.all([resolve('bad.example.com'), resolve('good.example.com')])

  expect([bad, good]).toEqual([failed('EAI_AGAIN'), four('192.0.2.7')])
})

test('without IPv6 answers the IPv4 addresses are used, and IPv6 is queried again soon', async () => {
  const { resolve, pass, questions } = await resolverWith(({ type }) => (type === 'A' ? HEALTHY : undefined))

  expect(await resolve('api.example.com')).toEqual(four('192.0.2.7'))
  const asked = questions.length
  pass(MIN_TTL_MS)
  await resolve('api.example.com')
  expect(questions.length).toBeGreaterThan(asked)
})

test('the hosts file takes precedence over DNS and is read again when it changes', async () => {
  const hosts = '# ours\n10.0.0.1 db.internal db # main\nfe80::1%lo0 odd\n\n10.0.0.2 DB.internal\n'
  const { resolve, questions, files, pass } = await resolverWith(() => HEALTHY, { hosts })

  expect(await resolve('db.internal')).toEqual(four('10.0.0.1', '10.0.0.2'))
  expect(await resolve('DB.internal.')).toEqual(four('10.0.0.1', '10.0.0.2'))
  expect(questions).toHaveLength(0)

  await writeFile(files.hosts, '10.0.0.9 db.internal\n')
  await utimes(files.hosts, 1, 1)
  pass(1_000)
  expect(await resolve('db.internal')).toEqual(four('10.0.0.9'))
})

test.each([
  ['db', 'search ns.cluster.test cluster.test\noptions ndots:5', ['db.ns.cluster.test', 'db.cluster.test']],
  ['a.b', 'search cluster.test', ['a.b', 'a.b.cluster.test']],
  ['a.b', 'domain cluster.test', ['a.b', 'a.b.cluster.test']],
  ['a.b.', 'search cluster.test\noptions timeout:1 ndots:5', ['a.b']],
])('%s is searched as resolv.conf defines: %j', async (name, resolvConf, expected) => {
  const last = expected.at(-1)
  const { resolve, questions } = await resolverWith(
    (question) => (question.name === last ? HEALTHY : { code: 'NXDOMAIN' }),
    { resolvConf },
  )

  const answer = await resolve(name)

  expect([...new Set(questions.map((question) => question.name))]).toEqual(expected)
  expect(answer).toEqual(four('192.0.2.7'))
})

test('localhost is resolved by the system, not by DNS', async () => {
  const { resolve, questions } = await resolverWith(() => ({ code: 'NXDOMAIN' }))

  const answer = await resolve('localhost')

  expect(answer).toContainEqual({
    address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
    family: expect.any(Number),
  })
  expect(questions).toHaveLength(0)
})

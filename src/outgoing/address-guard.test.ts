import { afterAll, expect, onTestFinished, test } from 'vitest'
import { aNameServer } from '../../test/support/name-server.ts'
import { forbiddenKind, notPrivate } from '../core/action/address.ts'
import { type Network, parseNetwork } from '../core/values/network.ts'
import { httpServer, sendBy as send } from '../worker/executors/test-support.ts'
import { HttpClient } from './http-client.ts'
import { NameResolver } from './names/name-resolver.ts'
import { confinementOf } from './project-networks.ts'

const strict = new HttpClient({ allowPrivate: false })
const lenient = new HttpClient({ allowPrivate: true })
afterAll(() => Promise.all([strict.close(), lenient.close()]))

const lenientPolicy = { allowPrivate: true }
const strictPolicy = { allowPrivate: false }

test.each([
  '0.0.0.0',
  '0.1.2.3',
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fec0::1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'ff02::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '3fff::1',
  '4000::1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::ffff:0:169.254.169.254',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:a9fe:a9fe::1',
  'not an address',
  '',
])('%s is never reached', (address) => {
  expect(forbiddenKind(address, lenientPolicy)).toBeTypeOf('string')
  expect(forbiddenKind(address, strictPolicy)).toBeTypeOf('string')
})

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '::1',
  'fc00::1',
  'fd12:3456::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
  '64:ff9b::10.0.0.1',
  '2002:7f00:1::',
  '2002:c0a8:101::1',
])('%s is reached only where private addresses are allowed', (address) => {
  expect(forbiddenKind(address, strictPolicy)).toBeTypeOf('string')
  expect(forbiddenKind(address, lenientPolicy)).toBeUndefined()
})

test.each([
  '1.1.1.1',
  '93.184.216.34',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700::1111',
  '::ffff:1.1.1.1',
  '64:ff9b::1.1.1.1',
  '2002:101:101::1',
])('%s is public', (address) => {
  expect(forbiddenKind(address, strictPolicy)).toBeUndefined()
})

test.each([
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST',
  '0',
  '①②⑦.⓪.⓪.①',
])('a strict client opens no connection to http://%s/', async (host) => {
  const server = await httpServer((_request, response) => response.end())

  const result = await send(strict, `http://${host}:${server.port}/`)

  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'forbidden_address' }, retryable: false },
  })
  expect(server.sockets).toHaveLength(0)
})

test.each(['169.254.169.254', '0.0.0.0', '[fd00:ec2::254]', '[::ffff:169.254.169.254]', '2852039166'])(
  'a lenient client opens no connection to http://%s/ either',
  async (host) => {
    const result = await send(lenient, `http://${host}/latest/meta-data/`)

    expect(result).toMatchObject({ ok: false, failure: { error: { code: 'forbidden_address' } } })
  },
)

test('a refusal names the kind of address and the host of the task, not what it resolved to', async () => {
  const result = await send(strict, 'http://localhost/')

  expect(result).toMatchObject({
    failure: { error: { message: 'requests to localhost are not allowed: its address is loopback' } },
  })
})

test('a lenient client reaches loopback by address and by name', async () => {
  const server = await httpServer((_request, response) => response.end('here'))

  for (const host of ['127.0.0.1', 'localhost', '2130706433']) {
    expect(await send(lenient, `http://${host}:${server.port}/`)).toMatchObject({
      ok: true,
      response: { body: 'here' },
    })
  }
})

/** A client whose names are answered with these addresses, one list after the other. */
async function clientOf(allowPrivate: boolean, ...answers: readonly string[][]) {
  let asked = 0
  const { server, questions } = await aNameServer(({ type }) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? []
    if (type === 'AAAA') asked++
    return { addresses, ttl: 0 }
  })
  const client = new HttpClient({ allowPrivate, resolver: new NameResolver({ servers: [server] }) })
  onTestFinished(() => client.close())
  return { client, questions }
}

test.each([
  ['the only one', ['127.0.0.1']],
  ['the last', ['93.184.216.34', '2606:4700::1111', '127.0.0.1']],
  ['the first', ['127.0.0.1', '93.184.216.34']],
  ['one of IPv6', ['93.184.216.34', '::1']],
])('a name is refused when a forbidden address is %s among its answers', async (_, addresses) => {
  const server = await httpServer((_request, response) => response.end())
  const { client } = await clientOf(false, addresses)

  const result = await send(client, `http://name.example.com:${server.port}/`)

  expect(result).toMatchObject({
    failure: {
      error: {
        code: 'forbidden_address',
        message: 'requests to name.example.com are not allowed: its address is loopback',
      },
    },
  })
  expect(server.sockets).toHaveLength(0)
})

test('a name is not resolved again between the check and the connection', async () => {
  const server = await httpServer((_request, response) => response.end('here'))
  const { client, questions } = await clientOf(true, ['127.0.0.1'], ['169.254.169.254'])

  const result = await send(client, `http://name.example.com:${server.port}/`)

  expect(result).toMatchObject({ ok: true, response: { body: 'here' } })
  expect(questions).toHaveLength(2)
})

const networks = (...texts: string[]) => texts.flatMap((text) => parseNetwork(text) ?? [])

test('a list allows its private networks in every notation, and no address that is always refused', () => {
  const policy = {
    allowPrivate: false,
    allowedNetworks: networks('10.1.0.0/16', '127.0.0.2', 'fc00::/7', '100.64.0.0/10'),
  }
  const reached = ['10.1.2.3', '127.0.0.2', 'fd12::1', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', '1.1.1.1']
  const notReached = ['10.2.0.1', '127.0.0.1', '192.168.1.1', '100.100.100.200', 'fd00:ec2::254', 'fe80::1']

  expect(reached.filter((address) => forbiddenKind(address, policy) !== undefined)).toEqual([])
  expect(notReached.filter((address) => forbiddenKind(address, policy) === undefined)).toEqual([])
})

test.each([
  '0.0.0.0/0',
  '8.8.8.8',
  '169.254.169.254',
  '169.254.0.0/16',
  '100.100.100.200',
  '::/0',
  'fe80::/10',
])('%s is not accepted as a private network', (text) => {
  expect(notPrivate(networks(text)[0] as Network)).toContain(text)
})

test('a confined project reaches only its networks and does not share connections of other projects', async () => {
  const server = await httpServer((_request, response) => response.end())
  const confined = new Map([
    ['nowhere', confinementOf([])],
    ['elsewhere', confinementOf(['10.0.0.0/8', '127.0.0.2'])],
    ['here', confinementOf(['127.0.0.1/32'])],
  ])
  const client = new HttpClient({
    allowPrivate: false,
    allowedNetworks: networks('127.0.0.0/8'),
    projectNetworks: { of: (projectId) => confined.get(projectId) },
  })
  onTestFinished(() => client.close())
  const call = async (projectId: string) => {
    const result = await send(client, server.url, { projectId })
    return result.ok ? result.response.status : result.failure.error.code
  }

  expect(await call('any')).toBe(200)
  expect(await call('nowhere')).toBe('forbidden_address')
  expect(await call('elsewhere')).toBe('forbidden_address')
  expect(await call('here')).toBe(200)
  expect(await call('any')).toBe(200)
  expect(server.sockets).toHaveLength(2)
})

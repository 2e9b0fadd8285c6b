/**
 * No request reaches an address that it must not reach. The real program runs in a network namespace in which those addresses
 * exist and a canary listens behind each; it calls them in every notation, by name, by redirect and with every action.
 */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { aDirectory, MAIN } from '../support/process.ts'

const NAMESPACE = fileURLToPath(new URL('./namespace.mjs', import.meta.url))
const PORT = 8080
const TIME_LIMIT_MS = 120_000
/** Root needs no user namespace, and in one would lose its way to the database's socket. */
const FLAGS = process.getuid?.() === 0 ? ['-nm'] : ['-rnm']

const ALWAYS = [
  '169.254.169.254',
  '169.254.1.1',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.2.1',
  '198.18.0.1',
]
const ALWAYS_V6 = ['fd00:ec2::254', 'fd20:ce::254', '2001:db8::1']
const PRIVATE = ['127.0.0.1', '127.0.0.53', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1']
const PRIVATE_V6 = ['::1', 'fd12:3456::1']
const PUBLIC = '93.184.216.34'

/** One address in all the ways that somebody reads as that address. */
function notations(address: string): string[] {
  const bytes = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const number = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'))
  const [h1 = '', h2 = '', h3 = '', h4 = ''] = hex
  return [
    address,
    `${address}.`,
    String(number),
    `0x${number.toString(16)}`,
    `0${number.toString(8)}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    hex.map((byte) => `0x${byte}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    `[::ffff:${address}]`,
    `[::ffff:${h1}${h2}:${h3}${h4}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[2002:${h1}${h2}:${h3}${h4}::1]`,
  ]
}

interface Report {
  readonly created: number
  readonly problem: string | null
  readonly control: readonly string[]
  readonly hits: readonly string[]
  readonly outcomes: readonly { readonly url: string; readonly state: string; readonly code: string | null }[]
}

/** Why there can be no namespace here, or null. */
function whyNot(): string | null {
  if (process.platform !== 'linux') return 'there are network namespaces on Linux alone'
  try {
    execFileSync(
      'unshare',
      [...FLAGS, 'sh', '-c', 'ip link set lo up && mount --bind /etc/hosts /etc/hosts'],
      {
        stdio: 'pipe',
      },
    )
    return null
  } catch (error) {
    return `this user may not make one, or ip is missing: ${String((error as { stderr?: Buffer }).stderr ?? error).trim()}`
  }
}

const reason = whyNot()
if (reason !== null) process.stdout.write(`  skipped: no network namespace, because ${reason}\n`)

/** Calls of all kinds to each of the hosts, straight and by way of somebody who sends them on. */
function callsTo(hosts: readonly string[]): object[] {
  return hosts.flatMap((host, i) => {
    const url = `http://${host}:${PORT}/`
    const kinds = [
      { type: 'ping', url },
      { type: 'webhook', url, body: {} },
      { type: 'slack', url, text: 'x' },
      { type: 'http', url, method: 'GET', followRedirects: 1 },
    ]
    const byRedirect = {
      type: 'http',
      url: `http://${PUBLIC}:${PORT}/?to=${encodeURIComponent(url)}`,
      method: 'GET',
      followRedirects: 3,
    }
    return [kinds[i % kinds.length] as object, byRedirect]
  })
}

async function run(
  mode: 'allow' | 'refuse',
  never: readonly string[],
  hosts: readonly string[][],
  names: readonly string[],
) {
  const { url: databaseUrl } = await createTestDatabase()
  const dir = aDirectory()
  const targets = [
    ...never.flatMap((address) => (address.includes(':') ? [`[${address}]`] : notations(address))),
    ...names,
  ]
  const tasks = callsTo(targets).map((action) => ({ action, retry: { limit: 0 }, timeout: '10s' }))
  const options = { main: MAIN, databaseUrl, mode, forbidden: never, reachable: [PUBLIC], hosts, dir, tasks }
  const file = join(dir, 'options.json')
  writeFileSync(file, JSON.stringify(options))
  const { stdout } = await promisify(execFile)('unshare', [...FLAGS, process.execPath, NAMESPACE, file], {
    timeout: TIME_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  return { report: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report, tasks }
}

/** A redirect may also be refused for how it is written: headers have no characters beyond Latin-1. */
const REFUSED = ['forbidden_address', 'redirect_refused']

function expectNoHit(
  { report, tasks }: { report: Report; tasks: readonly object[] },
  never: readonly string[],
) {
  expect(report.problem).toBeNull()
  expect([...new Set(report.control)].sort()).toEqual([...never].sort())
  expect(report.hits).toEqual([])
  expect(report.outcomes).toHaveLength(tasks.length)
  expect(report.outcomes.filter(({ code }) => !REFUSED.includes(code ?? ''))).toEqual([])
  process.stdout.write(`  ${tasks.length} calls to ${never.length} forbidden addresses, 0 canary hits\n`)
}

/** Names that lead to what is forbidden: alone, beside what is not, and in IPv6. */
const hostsOf = (address: string, six: string) => [
  ['alone.test', address],
  ['six.test', six],
  ['mixed.test', PUBLIC],
  ['mixed.test', address],
  ['mixed-six.test', PUBLIC],
  ['mixed-six.test', six],
]
const NAMES = ['alone.test', 'six.test', 'mixed.test', 'mixed-six.test', 'ALONE.test']

test.skipIf(reason !== null)(
  'where private networks are refused, none of them is reached, nor the machine itself',
  async () => {
    const never = [...ALWAYS, ...ALWAYS_V6, ...PRIVATE, ...PRIVATE_V6]

    const result = await run('refuse', never, hostsOf('10.0.0.1', 'fd12:3456::1'), [...NAMES, 'localhost'])

    expectNoHit(result, never)
  },
  TIME_LIMIT_MS,
)

test.skipIf(reason !== null)(
  'where private networks are allowed, metadata services and link-local addresses are not',
  async () => {
    const never = [...ALWAYS, ...ALWAYS_V6]

    const result = await run('allow', never, hostsOf('169.254.169.254', 'fd00:ec2::254'), NAMES)

    expectNoHit(result, never)
  },
  TIME_LIMIT_MS,
)

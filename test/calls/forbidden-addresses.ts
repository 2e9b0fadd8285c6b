/**
 * No request reaches an address that it must not reach. The real program runs in a network namespace in which those addresses
 * exist and a canary listens behind each; it calls them in every notation, by name, by redirect and with every action.
 */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createTestDatabase } from '../support/database.ts'
import { aDirectory, MAIN } from '../support/process.ts'

const NAMESPACE = fileURLToPath(new URL('./namespace.mjs', import.meta.url))
const PORT = 8080
/** Where the program itself listens. */
const OWN_PORT = 3369
export const TIME_LIMIT_MS = 240_000
/** Root needs no user namespace, and in one would lose its way to the database's socket. */
const FLAGS = process.getuid?.() === 0 ? ['-nm'] : ['-rnm']

/** Refused whatever the settings are: already when a task is made, so far as its URL says where it leads. */
export const ALWAYS = [
  '169.254.169.254',
  '169.254.1.1',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.2.1',
  '198.18.0.1',
]
export const ALWAYS_V6 = ['fd00:ec2::254', 'fd20:ce::254', '2001:db8::1']
const PRIVATE = ['127.0.0.1', '127.0.0.53', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1']
const PRIVATE_V6 = ['::1', 'fd12:3456::1']
const PUBLIC = '93.184.216.34'

/** Refused in each mode. */
const NEVER = {
  refuse: { four: [...ALWAYS, ...PRIVATE], six: [...ALWAYS_V6, ...PRIVATE_V6] },
  allow: { four: ALWAYS, six: ALWAYS_V6 },
}
export type Mode = keyof typeof NEVER

const digits = (address: string, zero: number) =>
  address.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** IPv6 addresses that somebody on the way takes for the IPv4 address inside: mapped, compatible, NAT64 and 6to4. */
function wrapped(address: string): string[] {
  const [h1 = '', h2 = '', h3 = '', h4 = ''] = address
    .split('.')
    .map((byte) => Number(byte).toString(16).padStart(2, '0'))
  return [
    `::ffff:${h1}${h2}:${h3}${h4}`,
    `::${h1}${h2}:${h3}${h4}`,
    `64:ff9b::${h1}${h2}:${h3}${h4}`,
    `2002:${h1}${h2}:${h3}${h4}::1`,
  ]
}

/** One address in all the ways that somebody reads as that address. */
export function notations(address: string): string[] {
  if (address.includes(':')) return [`[${address}]`, `[${address.toUpperCase()}]`]
  const bytes = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const number = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'))
  return [
    address,
    `${address}.`,
    String(number),
    `${number}.`,
    `0x${number.toString(16)}`,
    `0X${number.toString(16).toUpperCase()}`,
    `0${number.toString(8)}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => `000${byte.toString(8)}`).join('.'),
    hex.map((byte) => `0x${byte}`).join('.'),
    `${a}.0x${(b * 65_536 + c * 256 + d).toString(16)}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.0${b.toString(8)}.0x${c.toString(16)}.${d}`,
    digits(address, 0xff10),
    digits(address, 0x1d7ce),
    address.replaceAll('.', '。'),
    [...address].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(''),
    `[::ffff:${address}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    ...wrapped(address).map((six) => `[${six}]`),
  ]
}

/** A name whose answers stand in it; namespace.mjs has a name server that reads them. */
let names = 0
const hexOf = (address: string) => {
  const hostname = new URL(`http://${address.includes(':') ? `[${address}]` : address}/`).hostname
  return hostname.replace(/[[\]]/g, '').replaceAll(':', 'x').replaceAll('.', 'z')
}
const named = (kind: 'one' | 'many' | 'alias' | 'turn', ...answers: readonly string[]) =>
  `${kind}-${names++}.${answers.map(hexOf).join('.')}.dns.test`

const at = (host: string, port = PORT) => `http://${host}:${port}/`
const KINDS = [
  (url: string) => ({ type: 'ping', url }),
  (url: string) => ({ type: 'webhook', url, body: {} }),
  (url: string) => ({ type: 'slack', url, text: 'x' }),
  (url: string) => ({ type: 'http', url, method: 'GET', followRedirects: 1 }),
]
export const callsOf = (host: string) => KINDS.map((call) => call(at(host)))

const STATUSES = [301, 302, 303, 307, 308]
const sentOn = (to: string, status: number, by = PUBLIC) =>
  `${at(by)}?status=${status}&to=${encodeURIComponent(to)}`
/** By way of others who send it on, the last of them to where it must not go. */
const following = (url: string, method = 'GET') => ({ type: 'http', url, method, followRedirects: 5 })

/** Every way in which somebody public sends us on to a host. */
const redirectsTo = (host: string, i: number) => [
  ...STATUSES.map((status) => following(sentOn(at(host), status), i % 2 === 0 ? 'GET' : 'POST')),
  following(sentOn(sentOn(at(host), 302), 307)),
  following(sentOn(sentOn(sentOn(at(host), 301), 303), 308)),
  following(sentOn(`http://example.com@${host}:${PORT}/`, 302)),
  following(sentOn(`//${host}:${PORT}/`, 307)),
  following(sentOn(`http:\\\\${host}:${PORT}\\`, 307)),
]

/** The program's own API, by all names and addresses of its machine, directly and sent on by others. */
function callsToItself(mode: Mode): object[] {
  const addresses = ['127.0.0.1', '127.0.0.53', '10.0.0.1', '::1', 'fd12:3456::1', PUBLIC]
  const hosts = [
    ...addresses.flatMap(notations),
    ...addresses.flatMap((address) => [
      named('one', address),
      named('many', address),
      named('alias', address),
    ]),
    'localhost',
  ]
  const helpers = mode === 'allow' ? [PUBLIC, '192.168.1.1'] : [PUBLIC]
  return hosts.flatMap((host, i) => {
    const pause = `${at(host, OWN_PORT)}v1/queues/default/pause`
    return [
      (KINDS[i % KINDS.length] as (typeof KINDS)[number])(pause),
      { type: 'http', url: pause, method: 'POST' },
      ...helpers.map((by) => following(sentOn(pause, 307, by), 'POST')),
    ]
  })
}

/** Everything that must not come through in a mode. */
export function forbiddenCalls(mode: Mode): object[] {
  const { four, six } = NEVER[mode]
  const all = [...four, ...six]
  const direct = (mode === 'refuse' ? [...PRIVATE, ...PRIVATE_V6] : []).flatMap(notations).flatMap(callsOf)
  // Also where a task itself may go into private networks, nobody public sends it there.
  const redirects = [...NEVER.refuse.four, ...NEVER.refuse.six].flatMap(notations).flatMap(redirectsTo)
  const answers = all.flatMap((address) => [
    named('one', address),
    named('many', PUBLIC, address),
    named('many', address, PUBLIC),
    named('alias', address),
    ...(address.includes(':') ? [] : wrapped(address)).flatMap((inside) => [
      named('one', inside),
      named('many', PUBLIC, inside),
    ]),
  ])
  const byName = answers.flatMap((host, i) => [
    (KINDS[i % KINDS.length] as (typeof KINDS)[number])(at(host)),
    following(sentOn(at(host), STATUSES[i % STATUSES.length] as number)),
  ])
  // The first answer is harmless, and who is asked then sends it to the same name again.
  const rebinding = all.map((address) => {
    const host = named('turn', PUBLIC, address)
    return following(sentOn(at(host), 307, host))
  })
  const hosts = mode === 'refuse' ? ['localhost', 'LOCALHOST'].flatMap(callsOf) : []
  return [...direct, ...redirects, ...byName, ...rebinding, ...hosts, ...callsToItself(mode)]
}

export interface Report {
  readonly created: number
  readonly problem: string | null
  readonly control: readonly string[]
  readonly hits: readonly string[]
  /** Queues that a call to the program itself has paused. */
  readonly paused: readonly string[]
  readonly outcomes: readonly { readonly url: string; readonly state: string; readonly code: string | null }[]
  readonly never: readonly string[]
  readonly calls: number
}

/** Why there can be no namespace here, or null. */
function whyNot(): string | null {
  if (process.platform !== 'linux') return 'there are network namespaces on Linux alone'
  try {
    const attempt =
      'ip link set lo up && mount --bind /etc/hosts /etc/hosts && mount --bind /etc/resolv.conf /etc/resolv.conf'
    execFileSync('unshare', [...FLAGS, 'sh', '-c', attempt], { stdio: 'pipe' })
    return null
  } catch (error) {
    return `this user may not make one, or ip is missing: ${String((error as { stderr?: Buffer }).stderr ?? error).trim()}`
  }
}

export const noNamespace = whyNot()
if (noNamespace !== null) process.stdout.write(`  skipped: no network namespace, because ${noNamespace}\n`)

/** Has the real program make calls where canaries sit behind every forbidden address. */
export async function makeCalls(mode: Mode, calls: readonly object[]): Promise<Report> {
  const { url: databaseUrl } = await createTestDatabase()
  const dir = aDirectory()
  const never = [...NEVER.refuse.four, ...NEVER.refuse.six]
  const helpers = mode === 'allow' ? [PUBLIC, '192.168.1.1'] : [PUBLIC]
  const tasks = calls.map((action) => ({ action, retry: { limit: 0 }, timeout: '60s' }))
  const options = { main: MAIN, databaseUrl, mode, forbidden: never, helpers, port: OWN_PORT, dir, tasks }
  const file = join(dir, 'options.json')
  writeFileSync(file, JSON.stringify(options))
  const { stdout } = await promisify(execFile)('unshare', [...FLAGS, process.execPath, NAMESPACE, file], {
    timeout: TIME_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  return { ...JSON.parse(stdout.trim().split('\n').at(-1) ?? ''), never, calls: calls.length }
}

/** A redirect may also be refused for how it is written. */
const REFUSED = ['forbidden_address', 'redirect_refused']

/** What is wrong with a report; nothing when every call was refused and no canary was hit. */
export function faultsOf({ problem, control, hits, paused, outcomes, never, calls }: Report) {
  return {
    problem,
    silentCanaries: never.filter((address) => !control.includes(address)),
    hits,
    paused,
    unended: calls - outcomes.length,
    notRefused: outcomes.filter(({ code }) => !REFUSED.includes(code ?? '')),
  }
}
export const NO_FAULTS = {
  problem: null,
  silentCanaries: [],
  hits: [],
  paused: [],
  unended: 0,
  notRefused: [],
}

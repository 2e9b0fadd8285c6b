/**
 * Keeps outgoing requests away from addresses a task must not reach: the machine itself, its private
 * network, and cloud metadata services, whose answers are credentials.
 *
 * The guard sits in the connector because every connection passes there; a DNS hook alone is not called
 * for IP literals. Three checks must all pass: a literal address before connecting, every address a name
 * resolves to (one forbidden answer refuses them all, and the connection uses the checked answers, so a
 * second lookup cannot differ), and the far end of the connected socket.
 *
 * What is not known to be public is refused: a range that nobody listed fails closed.
 */
import { lookup } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'

/** Which addresses tasks may reach, beyond the public ones. */
export interface AddressPolicy {
  /** Whether loopback, private, unique-local and carrier-grade NAT addresses may be reached. */
  readonly allowPrivate: boolean
}

export type Connector = ReturnType<typeof buildConnector>

/** Refused before any byte was sent. `kind` names the range in words, such as `link-local`. */
export class ForbiddenAddressError extends Error {
  readonly code = 'forbidden_address'
  readonly kind: string

  constructor(kind: string) {
    super(`the address is ${kind}`)
    this.name = 'ForbiddenAddressError'
    this.kind = kind
  }
}

/** Why the address may not be reached, in a word or two; undefined when it may. */
export function forbiddenKind(address: string, policy: AddressPolicy): string | undefined {
  if (!ipaddr.isValid(address)) return 'not an IP address'
  const parsed = unwrap(ipaddr.parse(address))
  if (isMetadata(parsed)) return 'a metadata service'
  const range = parsed.range()
  if (range === 'unicast') return isGlobalUnicast(parsed) ? undefined : 'unassigned'
  const privateKind = PRIVATE_KINDS.get(range)
  if (privateKind !== undefined) return policy.allowPrivate ? undefined : privateKind
  return range === 'linkLocal' ? 'link-local' : KNOWN_KINDS.has(range) ? range : 'reserved'
}

const PRIVATE_KINDS: ReadonlyMap<string, string> = new Map([
  ['loopback', 'loopback'],
  ['private', 'private'],
  ['uniqueLocal', 'private'],
  ['carrierGradeNat', 'private'],
])
const KNOWN_KINDS: ReadonlySet<string> = new Set(['unspecified', 'multicast', 'broadcast'])

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Metadata services that live outside the link-local range: AWS, Google, Alibaba, Azure, in this order. */
const METADATA = ['fd00:ec2::/32', 'fd20:ce::254/128', '100.100.100.200/32', '168.63.129.16/32'].map((cidr) =>
  ipaddr.parseCIDR(cidr),
)

function isMetadata(address: Address): boolean {
  return METADATA.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96')
const WELL_KNOWN_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

function isGlobalUnicast(address: Address): boolean {
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST)
}

/** The IPv4 address inside an IPv6 one, wherever a kernel or gateway on the way would take it out again. */
function unwrap(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address
  const range = address.range()
  if (range === '6to4') return embeddedAt(address, 2)
  if (range === 'ipv4Mapped' || range === 'rfc6145') return embeddedAt(address, 12)
  if (address.match(WELL_KNOWN_NAT64)) return embeddedAt(address, 12)
  // `::` and `::1` also match ::/96 but have ranges of their own.
  if (range === 'unicast' && address.match(IPV4_COMPATIBLE)) return embeddedAt(address, 12)
  return address
}

function embeddedAt(address: ipaddr.IPv6, byte: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(byte, byte + 4))
}

/** A connector for undici that opens sockets only to addresses the policy allows. */
export function guardedConnector(policy: AddressPolicy, { timeoutMs }: { timeoutMs: number }): Connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    lookup: guardedLookup(policy),
  } as buildConnector.BuildOptions)

  return (options, callback) => {
    const literal = options.hostname
    if (isIP(literal) !== 0) {
      const kind = forbiddenKind(literal, policy)
      // Later, because undici expects no answer before its own call has returned.
      if (kind !== undefined) return process.nextTick(callback, new ForbiddenAddressError(kind), null)
    }

    connect(options, (...result) => {
      const [error, socket] = result
      if (error !== null) return callback(error, null)
      const refusal = refusalOf(socket, policy)
      if (refusal === undefined) return callback(null, socket)
      socket.destroy()
      callback(refusal, null)
    })
  }
}

function refusalOf(socket: Socket, policy: AddressPolicy): Error | undefined {
  // A socket without a remote address was closed by the far end the moment it opened.
  if (socket.remoteAddress === undefined) {
    return Object.assign(new Error('closed while connecting'), { code: 'ECONNRESET' })
  }
  const kind = forbiddenKind(socket.remoteAddress, policy)
  return kind === undefined ? undefined : new ForbiddenAddressError(kind)
}

function guardedLookup(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      for (const { address } of addresses) {
        const kind = forbiddenKind(address, policy)
        if (kind !== undefined) return callback(new ForbiddenAddressError(kind), [])
      }
      const [first] = addresses
      if (options.all || first === undefined) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}

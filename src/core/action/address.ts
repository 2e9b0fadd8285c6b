/**
 * Which addresses a task may reach. What is not known to be public is refused: a range that nobody listed fails closed.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Which addresses tasks may reach, beyond the public ones. */
export interface AddressPolicy {
  /** Whether loopback, private, unique-local and carrier-grade NAT addresses may be reached. */
  readonly allowPrivate: boolean
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

/** Whether an address is one that only this machine or its own network can reach. */
export const isPrivateAddress = (address: string): boolean =>
  forbiddenKind(address, { allowPrivate: false }) !== undefined

/** Whether an address is this machine's own: loopback, unspecified, or one of `local`, in whatever way it is written. */
export function isOfThisMachine(address: string, local: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = unwrap(ipaddr.parse(address))
  if (['loopback', 'unspecified'].includes(parsed.range())) return true
  const text = parsed.toNormalizedString()
  return local.some((own) => ipaddr.isValid(own) && ipaddr.parse(own).toNormalizedString() === text)
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

/**
 * Why no setting lets a URL be reached, when its host is an address; undefined when it is a name, or may be reached. A URL
 * has its addresses in their ordinary form, so Node can tell them from names; ipaddr.js takes 23 µs to refuse a name.
 */
export function neverReached({ hostname }: URL): string | undefined {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return isIP(host) === 0 ? undefined : forbiddenKind(host, { allowPrivate: true })
}

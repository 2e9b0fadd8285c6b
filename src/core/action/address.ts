/** The addresses that tasks may reach. An address that is not known to be public is rejected, so an unlisted range fails closed. */
import ipaddr from 'ipaddr.js'
import { holds, isInside, type Network, networkText, parseNetwork } from '../values/network.ts'

/** The addresses that tasks may reach in addition to public ones. */
export interface AddressPolicy {
  /** Whether loopback, private, unique-local and carrier-grade NAT addresses may be reached. */
  readonly allowPrivate: boolean
  /** Private networks that may be reached even if `allowPrivate` is false. */
  readonly allowedNetworks?: readonly Network[] | undefined
  /** If set, the only private networks that may be reached. */
  readonly onlyNetworks?: readonly Network[] | undefined
}

/** The kind of a forbidden address, in a word or two; undefined if the address may be reached. */
export function forbiddenKind(address: string, policy: AddressPolicy): string | undefined {
  if (!ipaddr.isValid(address)) return 'not an IP address'
  const parsed = unwrap(ipaddr.parse(address))
  if (isMetadata(parsed)) return 'a metadata service'
  const range = parsed.range()
  if (range === 'unicast') return isGlobalUnicast(parsed) ? undefined : 'unassigned'
  const privateKind = PRIVATE_KINDS.get(range)
  if (privateKind !== undefined) return isAllowed(parsed, policy) ? undefined : privateKind
  return range === 'linkLocal' ? 'link-local' : KNOWN_KINDS.has(range) ? range : 'reserved'
}

function isAllowed(
  address: Address,
  { allowPrivate, allowedNetworks, onlyNetworks }: AddressPolicy,
): boolean {
  if (!allowPrivate && !holdsAny(allowedNetworks ?? [], address)) return false
  return onlyNetworks === undefined || holdsAny(onlyNetworks, address)
}

const holdsAny = (networks: readonly Network[], address: Address) =>
  networks.some((network) => holds(network, address))

/**
 * Why a network cannot be listed among the private networks that tasks may reach, or null if it can: tasks reach other networks
 * anyway, or never. A network that contains a metadata service among other addresses can be listed; the service remains
 * unreachable.
 */
export function notPrivate(network: Network): string | null {
  if (PRIVATE_NETWORKS.some((known) => isInside([known], network)) && !isMetadata(network.base)) return null
  return `${networkText(network)} is not part of a private network that tasks can reach, such as 10.0.0.0/8 or 192.168.0.0/16`
}

/** Whether an address can be reached from this machine or its own network only. */
export const isPrivateAddress = (address: string): boolean =>
  forbiddenKind(address, { allowPrivate: false }) !== undefined

/** Whether an address, in any notation, belongs to this machine: loopback, unspecified, or one of `local`. */
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
/** All networks that ipaddr.js assigns to these kinds. */
const PRIVATE_NETWORKS = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
].flatMap((text) => parseNetwork(text) ?? [])
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

/** The IPv4 address embedded in an IPv6 one, for every format from which a kernel or a gateway would extract it. */
function unwrap(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address
  const range = address.range()
  if (range === '6to4') return embeddedAt(address, 2)
  if (range === 'ipv4Mapped' || range === 'rfc6145') return embeddedAt(address, 12)
  if (address.match(WELL_KNOWN_NAT64)) return embeddedAt(address, 12)
  // `::` and `::1` also match ::/96 but have their own ranges.
  if (range === 'unicast' && address.match(IPV4_COMPATIBLE)) return embeddedAt(address, 12)
  return address
}

function embeddedAt(address: ipaddr.IPv6, byte: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(byte, byte + 4))
}

/** Four numbers. In a URL, IPv4 addresses always have this form, and no host name ends in a number. */
const IPV4 = /^\d+(\.\d+){3}$/

/**
 * Why a URL can never be reached, whatever the settings, if its host is an address; undefined if the host is a name or may be
 * reached. Addresses are recognised by their form, because ipaddr.js takes 23 µs to reject a name, and the dashboard has
 * no `node:net`.
 */
export function neverReached({ hostname }: URL): string | undefined {
  const isIPv6 = hostname.startsWith('[')
  if (!isIPv6 && !IPV4.test(hostname)) return undefined
  return forbiddenKind(isIPv6 ? hostname.slice(1, -1) : hostname, { allowPrivate: true })
}

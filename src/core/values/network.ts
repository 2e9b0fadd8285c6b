/** Networks as people write them: `10.1.0.0/16`, `fd12::/48`, or one address. */
import ipaddr from 'ipaddr.js'

/** Maximum number of networks in one list of a key or a project. */
export const MAX_NETWORKS = 100

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** All addresses with a common prefix. */
export interface Network {
  readonly base: Address
  readonly bits: number
}

/** Parses a network. Null if it is not valid or if it has address bits after the prefix, which is usually a mistake. */
export function parseNetwork(text: string): Network | null {
  const [address = '', length, ...rest] = text.split('/')
  const base = parseAddress(address)
  if (base === null || rest.length > 0) return null
  const width = base.kind() === 'ipv4' ? 32 : 128
  if (length === undefined) return { base, bits: width }
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (!(bits <= width)) return null
  return hasBitsBehind(base, bits) ? null : { base, bits }
}

/** Whether an address is in one of the networks, even if it is written as an IPv4-mapped IPv6 address. */
export function isWithin(networks: readonly Network[], address: string): boolean {
  if (networks.length === 0) return false
  const parsed = parseAddress(address)
  return parsed !== null && networks.some((network) => holds(network, parsed))
}

/** Whether one of the networks contains the whole of another network. */
export const isInside = (networks: readonly Network[], { base, bits }: Network): boolean =>
  networks.some((network) => network.bits <= bits && holds(network, base))

/** The canonical text of a network. */
export const networkText = ({ base, bits }: Network): string => `${base.toString()}/${bits}`

/** Whether a network contains an address that is already parsed. */
export const holds = ({ base, bits }: Network, address: Address): boolean =>
  base.kind() === address.kind() && address.match(base, bits)

/** Parses an address in the usual notation only, because programs interpret other notations differently. */
function parseAddress(text: string): Address | null {
  const isOrdinary = text.includes(':') ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text)
  if (!isOrdinary || text.includes('%')) return null
  const address = ipaddr.parse(text)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function hasBitsBehind(base: Address, bits: number): boolean {
  const bytes = base.toByteArray()
  return bytes.some((byte, i) => {
    const own = Math.min(8, Math.max(0, bits - i * 8))
    return (byte & (0xff >> own)) !== 0
  })
}

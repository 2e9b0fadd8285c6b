/**
 * Orders addresses as getaddrinfo does, by the rules of RFC 6724 that matter to a client: addresses for which this machine has
 * no source address go last; then its own kinds of address precede others; then the precedence of the kind decides.
 */
import type { LookupAddress } from 'node:dns'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Kinds of addresses, with their default precedence in RFC 6724. */
const PRECEDENCE = { loopback6: 50, global6: 40, four: 35, tunnel6: 30, teredo6: 5, local6: 3 } as const
type Kind = keyof typeof PRECEDENCE

const KINDS: Readonly<Record<string, Kind>> = {
  loopback: 'loopback6',
  uniqueLocal: 'local6',
  '6to4': 'tunnel6',
  teredo: 'teredo6',
  ipv4Mapped: 'four',
}

function kindOf(address: string): Kind {
  if (!isIPv6(address)) return 'four'
  return KINDS[ipaddr.IPv6.parse(address).range()] ?? 'global6'
}

/** Sorts stably: equal addresses keep the order of the response. */
export function inPreferredOrder(
  addresses: readonly string[],
  own: () => readonly string[] = ownAddresses,
): readonly LookupAddress[] {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const isMixed = found.length > 1 && found.some(({ family }) => family === 6)
  if (!isMixed) return found
  const kinds = new Set(own().map(kindOf))
  const ranked = found.map((each) => ({ each, rank: rankOf(kindOf(each.address), kinds) }))
  return ranked.sort((a, b) => a.rank - b.rank).map(({ each }) => each)
}

/** Returns the addresses that this machine can call from. Link-local ones are left out, because they reach only their own link. */
function ownAddresses(): readonly string[] {
  const found = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return found.map(({ address }) => address).filter((address) => !/^fe[89ab]/i.test(address))
}

const UNREACHABLE = 1_000
const OTHER_KIND = 100

/** Returns the rank; lower is better. IPv4 is assumed to exist: a machine without it finds out when it connects. */
function rankOf(kind: Kind, own: ReadonlySet<Kind>): number {
  const isOwnKind = kind === 'four' || own.has(kind)
  const hasSix = own.has('global6') || own.has('local6') || own.has('tunnel6')
  const isReachable = kind === 'loopback6' ? isOwnKind : isOwnKind || hasSix
  return (isReachable ? 0 : UNREACHABLE) + (isOwnKind ? 0 : OTHER_KIND) - PRECEDENCE[kind]
}

/**
 * Keeps outgoing requests away from addresses that a task must not reach: the machine itself, its private network, and cloud
 * metadata services, whose responses contain credentials.
 *
 * The guard is part of the connector because every connection goes through it; a DNS hook alone is not called for IP literals.
 * Three checks must all pass: a literal address before connecting; every address that a name resolves to (one forbidden address
 * rejects them all, and the connection uses the checked addresses, so a second lookup cannot differ); and the remote end of the
 * connected socket.
 *
 * core/address.ts defines which addresses are forbidden. On the ports that Belfry itself listens on, no address of this machine
 * is called, whatever the policy: a task could otherwise do what only local users of the machine may.
 */
import { isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { buildConnector } from 'undici'
import { type AddressPolicy, forbiddenKind, isOfThisMachine } from '../core/action/address.ts'
import { lookupBy } from './names/lookup-function.ts'
import type { NameResolver } from './names/name-resolver.ts'
import type { OwnPorts } from './own-ports.ts'
import type { Shortage } from './shortage.ts'

export type Connector = ReturnType<typeof buildConnector>

/** Thrown before any byte was sent. `kind` names the range in words, such as `link-local`. */
export class ForbiddenAddressError extends Error {
  readonly code = 'forbidden_address'
  readonly kind: string

  constructor(kind: string) {
    super(`the address is ${kind}`)
    this.name = 'ForbiddenAddressError'
    this.kind = kind
  }
}

/** The policy of a connector, and its callbacks. */
export interface GuardOptions extends AddressPolicy {
  /** Ports of this machine that must not be called, because Belfry itself listens there. */
  readonly own: OwnPorts
  readonly resolver: NameResolver
  readonly shortage: Shortage
  readonly timeoutMs: number
  /** Called with the address that each connection to an origin has reached. */
  readonly onConnected: (origin: string, address: string) => void
}

/** Returns why an address may not be reached; undefined if it may. */
export type Judge = (address: string) => string | undefined

/** Returns the judge for connections to a port. */
export function judgeOf(port: number, policy: AddressPolicy, own: OwnPorts): Judge {
  const judgeElsewhere: Judge = (address) => forbiddenKind(address, policy)
  return own.has(port) ? (address) => judgeElsewhere(address) ?? ownKind(address) : judgeElsewhere
}

/** A connector for undici that opens sockets only to addresses the policy allows, and never to Belfry itself. */
export function guardedConnector(guard: GuardOptions): Connector {
  const { own, resolver, shortage, timeoutMs, onConnected, ...policy } = guard
  const judgeElsewhere: Judge = (address) => forbiddenKind(address, policy)
  const judgeHere: Judge = (address) => judgeElsewhere(address) ?? ownKind(address)
  const connectorFor = (judge: Judge) =>
    buildConnector({
      timeout: timeoutMs,
      lookup: lookupBy(resolver, refusing(judge)),
    } as buildConnector.BuildOptions)
  const elsewhere = shortage.outlasting(connectorFor(judgeElsewhere), timeoutMs)
  const here = shortage.outlasting(connectorFor(judgeHere), timeoutMs)

  return (options, callback) => {
    const isOwnPort = own.has(portOf(options))
    const judge = isOwnPort ? judgeHere : judgeElsewhere
    const kind = isIP(options.hostname) === 0 ? undefined : judge(options.hostname)
    // Deferred, because undici expects the callback only after its call has returned.
    if (kind !== undefined) return process.nextTick(callback, new ForbiddenAddressError(kind), null)

    const connect = isOwnPort ? here : elsewhere
    connect(options, (...result) => {
      const [error, socket] = result
      if (error !== null) {
        resolver.forget(options.hostname)
        return callback(error, null)
      }
      const refusal = refusalOf(socket, judge)
      if (refusal === undefined) {
        onConnected(`${options.protocol}//${options.host}`, socket.remoteAddress ?? '')
        return callback(null, socket)
      }
      socket.destroy()
      callback(refusal, null)
    })
  }
}

/** Interfaces can change, so they are listed each time; only calls to Belfry's own ports get here. */
function ownKind(address: string): string | undefined {
  const local = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const isOwn = isOfThisMachine(
    address,
    local.map((each) => each.address),
  )
  return isOwn ? "Belfry's own" : undefined
}

const portOf = ({ port, protocol }: { port: string; protocol: string }) =>
  Number(port) || (protocol === 'https:' ? 443 : 80)

/** Returns the check for the addresses that a name resolves to. */
export const refusing = (judge: Judge) => (address: string) => {
  const kind = judge(address)
  return kind === undefined ? undefined : new ForbiddenAddressError(kind)
}

/** Returns why a connected socket must be closed again, judged by its remote address. */
export function refusalOf(socket: Socket, judge: Judge): Error | undefined {
  // A socket without a remote address was closed by the remote end as soon as it opened.
  if (socket.remoteAddress === undefined) {
    return Object.assign(new Error('closed while connecting'), { code: 'ECONNRESET' })
  }
  return refusing(judge)(socket.remoteAddress)
}

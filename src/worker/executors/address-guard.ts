/**
 * Keeps outgoing requests away from addresses a task must not reach: the machine itself, its private
 * network, and cloud metadata services, whose answers are credentials.
 *
 * The guard sits in the connector because every connection passes there; a DNS hook alone is not called
 * for IP literals. Three checks must all pass: a literal address before connecting, every address a name
 * resolves to (one forbidden answer refuses them all, and the connection uses the checked answers, so a
 * second lookup cannot differ), and the far end of the connected socket.
 *
 * Which addresses those are is told by core/address.ts.
 */
import { lookup } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { type AddressPolicy, forbiddenKind } from '../../core/address.ts'

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

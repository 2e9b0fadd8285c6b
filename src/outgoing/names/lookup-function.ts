import type { LookupFunction } from 'node:net'
import type { NameResolver } from './name-resolver.ts'

/** Returns an error if an address is forbidden; one forbidden address rejects the name. */
export type CheckAddress = (address: string) => Error | undefined

/** Lets `connect` of node:net and node:tls use the resolver. The connection uses the checked addresses. */
export function lookupBy(resolver: NameResolver, check: CheckAddress = () => undefined): LookupFunction {
  return (hostname, { all, family }, callback) => {
    void resolver.resolve(hostname).then((answer) => {
      if ('code' in answer) return callback(failureOf(hostname, answer.code), [])
      for (const { address } of answer) {
        const refusal = check(address)
        if (refusal !== undefined) return callback(refusal, [])
      }
      const wanted = answer.filter((each) => !family || familyOf(family) === each.family)
      const [first] = wanted
      if (first === undefined) return callback(failureOf(hostname, 'ENOTFOUND'), [])
      if (all) return callback(null, wanted)
      callback(null, first.address, first.family)
    })
  }
}

const familyOf = (family: number | string) => (family === 4 || family === 'IPv4' ? 4 : 6)

/** Creates the same error as getaddrinfo, for code that distinguishes errors by it. */
const failureOf = (hostname: string, code: string) =>
  Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, syscall: 'getaddrinfo', hostname })

/** How much clients may take of the server before they have asked for anything. */
export interface ConnectionLimits {
  /** The head of a request has to be there after this time. */
  readonly headersTimeoutMs: number
  /** And all of it, its body included, after this. */
  readonly requestTimeoutMs: number
  /** Open at once; what comes beyond is closed. */
  readonly maxConnections: number
}

/** Node looks for requests that are late this often: a quarter of the time that they have, and each second at least. */
const CHECKS = 4
const LONGEST_PAUSE_MS = 1_000

/** What Fastify makes its server with. */
export function timeoutsOf({ headersTimeoutMs, requestTimeoutMs }: ConnectionLimits) {
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs)
  const connectionsCheckingInterval = Math.min(LONGEST_PAUSE_MS, Math.ceil(headersTimeout / CHECKS))
  return {
    requestTimeout: requestTimeoutMs,
    http: { headersTimeout, requestTimeout: requestTimeoutMs, connectionsCheckingInterval },
  }
}

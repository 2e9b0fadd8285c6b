/**
 * Resolves host names for every outgoing connection of a process without the threads that getaddrinfo needs, so that names that
 * hang do not delay others. The order is: the hosts file, cached results, DNS by c-ares, and getaddrinfo for names that only
 * the system may know, on at most two threads.
 *
 * Simultaneous requests for one name share a lookup. Each lookup has its own channel, so that a response that breaks
 * c-ares's connection, or a server that does not respond, affects no other name. Errors are those of getaddrinfo.
 */
import { LRUCache } from 'lru-cache'
import { inPreferredOrder } from './address-order.ts'
import { HOSTS_FILE, parseHosts } from './hosts-file.ts'
import { type FoundOut, MIN_TTL_MS, type NameAnswer, NameLookup } from './name-lookup.ts'
import { hasOtherSources, isLocalhost, isLocalName, NSSWITCH_CONF } from './other-sources.ts'
import { candidatesOf, parseSearchRules, RESOLV_CONF } from './search-domains.ts'
import { ThreadLookups } from './thread-lookup.ts'
import { WatchedFile } from './watched-file.ts'

/** Timeout for resolving a name by all means: shorter than the connect timeout, so that the error names the cause. */
export const LOOKUP_MS = 8_000
export const MAX_CACHED_NAMES = 4_096
/** Maximum number of simultaneous lookups; each occupies a socket. */
export const MAX_LOOKUPS = 4_096

/** Shared by the whole process, because its threads are. */
const THREADS = new ThreadLookups()

/** The sources of names; the system's own by default. */
export interface NameResolverOptions {
  readonly hostsFile?: string
  readonly resolvConf?: string
  readonly nsswitchConf?: string
  /** Name servers in place of those in resolv.conf, such as `127.0.0.1:5353`. */
  readonly servers?: readonly string[]
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

interface Known extends FoundOut {
  readonly knownAt: number
}

export class NameResolver {
  readonly #servers: readonly string[] | undefined
  readonly #now: () => number
  readonly #hosts: WatchedFile<ReturnType<typeof parseHosts>>
  readonly #search: WatchedFile<ReturnType<typeof parseSearchRules>>
  readonly #hasOtherSources: WatchedFile<boolean>
  readonly #known = new LRUCache<string, Known>({ max: MAX_CACHED_NAMES })
  readonly #lookups = new Map<string, Promise<NameAnswer>>()

  constructor(options: NameResolverOptions = {}) {
    const now = options.now ?? (() => performance.now())
    this.#servers = options.servers
    this.#now = now
    this.#hosts = new WatchedFile(options.hostsFile ?? HOSTS_FILE, parseHosts, now)
    this.#search = new WatchedFile(options.resolvConf ?? RESOLV_CONF, parseSearchRules, now)
    this.#hasOtherSources = new WatchedFile(options.nsswitchConf ?? NSSWITCH_CONF, hasOtherSources, now)
  }

  /** Never rejects. */
  async resolve(hostname: string): Promise<NameAnswer> {
    const name = hostname.toLowerCase()
    const listed = this.#hosts.value.get(name.replace(/\.$/, ''))
    if (listed !== undefined) return inPreferredOrder(listed)
    const known = this.#known.get(name)
    if (known !== undefined && this.#now() < known.knownAt + known.keptMs) return known.answer
    return this.#lookups.get(name) ?? this.#lookUp(name)
  }

  /** Drops the cached result of a name to which a connection failed, so that the next connection queries again within the TTL. */
  forget(hostname: string): void {
    const name = hostname.toLowerCase()
    const known = this.#known.get(name)
    if (known !== undefined && this.#now() >= known.knownAt + MIN_TTL_MS) this.#known.delete(name)
  }

  #lookUp(name: string): Promise<NameAnswer> {
    if (this.#lookups.size >= MAX_LOOKUPS) return Promise.resolve({ code: 'EAI_AGAIN' })
    const lookup = this.#withinLimit(name).then((foundOut) => {
      this.#lookups.delete(name)
      this.#known.set(name, { ...foundOut, knownAt: this.#now() })
      return foundOut.answer
    })
    this.#lookups.set(name, lookup)
    return lookup
  }

  async #withinLimit(name: string): Promise<FoundOut> {
    const lookup = new NameLookup({ name, servers: this.#servers, threads: THREADS })
    const limit = setTimeout(() => lookup.cancel(), LOOKUP_MS)
    const foundOut = await lookup.run(this.#candidates(name), this.#isKnownElsewhere(name))
    clearTimeout(limit)
    return foundOut
  }

  #candidates(name: string): readonly string[] {
    return isLocalhost(name) ? [] : candidatesOf(name, this.#search.value)
  }

  /** Whether getaddrinfo may know a name that does not exist in DNS. */
  #isKnownElsewhere(name: string): boolean {
    return (
      isLocalhost(name) || isLocalName(name) || process.platform !== 'linux' || this.#hasOtherSources.value
    )
  }
}

/**
 * Resolves the names of hosts for every outgoing connection of a process, without the threads that getaddrinfo needs: names
 * that hang must delay nobody. In this order: the hosts file, what was answered a short time ago, DNS by c-ares, and
 * getaddrinfo for what only the system may know, on two threads at most.
 *
 * Those who ask for one name at the same time share one lookup. Each lookup has its own channel: an answer that breaks
 * c-ares's connection, or a server that does not answer, concerns no other name. Errors are those of getaddrinfo.
 */
import { LRUCache } from 'lru-cache'
import { inPreferredOrder } from './address-order.ts'
import { HOSTS_FILE, parseHosts } from './hosts-file.ts'
import { type FoundOut, MIN_TTL_MS, type NameAnswer, NameLookup } from './name-lookup.ts'
import { hasOtherSources, isLocalhost, isLocalName, NSSWITCH_CONF } from './other-sources.ts'
import { candidatesOf, parseSearchRules, RESOLV_CONF } from './search-domains.ts'
import { ThreadLookups } from './thread-lookup.ts'
import { WatchedFile } from './watched-file.ts'

/** How long a name may take to resolve, whatever it needs: less than the time to connect, so that the error says what it was. */
export const LOOKUP_MS = 8_000
export const MAX_CACHED_NAMES = 4_096
/** Names that are looked up at once; each holds a socket while it is. */
export const MAX_LOOKUPS = 4_096

/** Threads belong to the process. */
const THREADS = new ThreadLookups()

/** Where names are known from; the system's own places unless told otherwise. */
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

  /** A connection to this name failed: the next one asks again, although DNS said that the answer holds longer. */
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

  /** Whether getaddrinfo may know a name of which DNS says that it does not exist. */
  #isKnownElsewhere(name: string): boolean {
    return (
      isLocalhost(name) || isLocalName(name) || process.platform !== 'linux' || this.#hasOtherSources.value
    )
  }
}

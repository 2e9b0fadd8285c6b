import type { LookupAddress } from 'node:dns'
import { isOutOfFiles } from '../shortage.ts'
import { inPreferredOrder } from './address-order.ts'
import { DnsQuery } from './dns-query.ts'
import type { ThreadLookups } from './thread-lookup.ts'

/** A result is cached for its DNS TTL, within these bounds. */
export const MIN_TTL_MS = 1_000
export const MAX_TTL_MS = 60_000
/** A failed lookup is cached only for as long as a burst of calls lasts. */
export const NEGATIVE_TTL_MS = 1_000

/** The addresses of a name in the order to try them, at least one, or the error code of getaddrinfo. */
export type NameAnswer = readonly LookupAddress[] | { readonly code: string }

/** A result and how long it is valid. */
export interface FoundOut {
  readonly answer: NameAnswer
  readonly keptMs: number
}

export interface NameLookupOptions {
  readonly name: string
  readonly servers: readonly string[] | undefined
  readonly threads: ThreadLookups
}

/** One lookup: DNS for each candidate in turn, then getaddrinfo if it may know more. It ends when it is cancelled. */
export class NameLookup {
  readonly #name: string
  readonly #threads: ThreadLookups
  readonly #dns: DnsQuery
  #isCancelled = false
  #onCancel: (() => void)[] = []

  constructor({ name, servers, threads }: NameLookupOptions) {
    this.#name = name
    this.#threads = threads
    this.#dns = new DnsQuery(servers)
  }

  run(candidates: readonly string[], isKnownElsewhere: boolean): Promise<FoundOut> {
    return new Promise((resolve, reject) => {
      this.#onCancel.push(() => resolve(failedBy('EAI_AGAIN')))
      this.#ask(candidates, isKnownElsewhere).then(resolve, reject)
    })
  }

  cancel(): void {
    this.#isCancelled = true
    this.#dns.cancel()
    for (const end of this.#onCancel) end()
  }

  async #ask(candidates: readonly string[], isKnownElsewhere: boolean): Promise<FoundOut> {
    const kinds = new Set<string>()
    for (const candidate of candidates) {
      const answer = await this.#dns.ask(candidate)
      if (this.#isCancelled) break
      if (answer.kind === 'found') return foundBy(answer.addresses, answer.ttlSeconds * 1_000)
      kinds.add(answer.kind)
    }
    if (this.#isCancelled || kinds.has('unanswered')) return failedBy('EAI_AGAIN')
    if (isKnownElsewhere) return this.#askSystem()
    return failedBy(kinds.has('refused') ? 'EAI_AGAIN' : 'ENOTFOUND')
  }

  async #askSystem(): Promise<FoundOut> {
    const answer = await this.#threads.ask(this.#name, (cancel) => this.#onCancel.push(cancel))
    return 'code' in answer ? failedBy(answer.code) : foundBy(answer, MIN_TTL_MS)
  }
}

const foundBy = (addresses: readonly string[], ttlMs: number): FoundOut => ({
  answer: inPreferredOrder(addresses),
  keptMs: Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS),
})

/** A process that cannot open a socket gets no answer and would report that the name does not exist, so this case is detected. */
const failedBy = (code: string): FoundOut =>
  isOutOfFiles() ? { answer: { code: 'EMFILE' }, keptMs: 0 } : { answer: { code }, keptMs: NEGATIVE_TTL_MS }

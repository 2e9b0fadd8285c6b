/** Queries DNS for the addresses of one complete name with c-ares, which waits on sockets and occupies no thread. */
import { type RecordWithTtl, Resolver } from 'node:dns'

/** Timeout of the first query; later ones wait longer. */
const QUESTION_MS = 1_500
/** Maximum number of queries to a name server. */
const MAX_QUESTIONS = 4
/** How much longer one address family is waited for after the other has been answered: some servers never answer for IPv6. */
const SECOND_FAMILY_MS = 500

/** Addresses, or why there are none. `refused`: no name server listens at the configured address. */
export type DnsAnswer =
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly ttlSeconds: number }
  | { readonly kind: 'not_found' | 'unanswered' | 'refused' }

type Family = 'resolve4' | 'resolve6'
type FamilyAnswer = { readonly records: readonly RecordWithTtl[]; readonly code: string | undefined }

/** Queries can be made one after the other; `cancel` resolves those in progress as `unanswered`. */
export class DnsQuery {
  readonly #resolver = new Resolver({ timeout: QUESTION_MS, tries: MAX_QUESTIONS })

  /** Uses `servers`, or those of resolv.conf, which is read each time. */
  constructor(servers?: readonly string[]) {
    if (servers !== undefined) this.#resolver.setServers(servers)
  }

  /** Queries both families at once. A result without one of them gets the shortest TTL. */
  ask(name: string): Promise<DnsAnswer> {
    return new Promise((resolve) => {
      const answers: FamilyAnswer[] = []
      let patience: NodeJS.Timeout | undefined
      const finish = () => {
        clearTimeout(patience)
        resolve(merge(answers))
      }
      const onAnswer = (answer: FamilyAnswer) => {
        answers.push(answer)
        if (answers.length === 2) finish()
        else if (answer.records.length > 0) patience = setTimeout(finish, SECOND_FAMILY_MS)
      }
      this.#ask('resolve4', name, onAnswer)
      this.#ask('resolve6', name, onAnswer)
    })
  }

  cancel(): void {
    this.#resolver.cancel()
  }

  #ask(family: Family, name: string, onAnswer: (answer: FamilyAnswer) => void): void {
    this.#resolver[family](name, { ttl: true }, (error, records) =>
      onAnswer(
        error ? { records: [], code: error.code ?? 'unknown' } : { records: records ?? [], code: undefined },
      ),
    )
  }
}

/** Codes that mean that a name, or one family of its addresses, does not exist. */
const ABSENT = new Set<string | undefined>([undefined, 'ENOTFOUND', 'ENODATA', 'EBADNAME'])

function merge(answers: readonly FamilyAnswer[]): DnsAnswer {
  const records = answers.flatMap((answer) => answer.records)
  if (records.length > 0) {
    const isWhole = answers.length === 2 && answers.every(({ code }) => ABSENT.has(code))
    const ttlSeconds = isWhole ? Math.min(...records.map(({ ttl }) => ttl)) : 0
    return { kind: 'found', addresses: records.map(({ address }) => address), ttlSeconds }
  }
  if (answers.every(({ code }) => ABSENT.has(code))) return { kind: 'not_found' }
  return { kind: answers.every(({ code }) => code === 'ECONNREFUSED') ? 'refused' : 'unanswered' }
}

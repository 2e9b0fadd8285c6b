/** Asks DNS for the addresses of one complete name, by c-ares: it waits on sockets and holds no thread. */
import { type RecordWithTtl, Resolver } from 'node:dns'

/** How long the first question waits for its answer; later ones wait longer. */
const QUESTION_MS = 1_500
/** Questions a name server is asked. */
const MAX_QUESTIONS = 4
/** How much longer one family is waited for when the other has answered: some servers never answer for IPv6. */
const SECOND_FAMILY_MS = 500

/** Addresses, or why there are none. `refused`: no name server listens where one should. */
export type DnsAnswer =
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly ttlSeconds: number }
  | { readonly kind: 'not_found' | 'unanswered' | 'refused' }

type Family = 'resolve4' | 'resolve6'
type FamilyAnswer = { readonly records: readonly RecordWithTtl[]; readonly code: string | undefined }

/** One question after the other can be asked; `cancel` answers those that are open with `unanswered`. */
export class DnsQuery {
  readonly #resolver = new Resolver({ timeout: QUESTION_MS, tries: MAX_QUESTIONS })

  /** `servers` in place of those of resolv.conf, which is read each time. */
  constructor(servers?: readonly string[]) {
    if (servers !== undefined) this.#resolver.setServers(servers)
  }

  /** Both families at once. An answer without one of them is good for as short as possible. */
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

/** What says that a name, or a family of its addresses, does not exist. */
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

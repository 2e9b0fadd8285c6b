import type { Database } from '../../store/database/database.ts'
import { notAnswering, type Trouble, troubleOf } from '../../store/database/database-trouble.ts'
import { sql } from '../../store/database/sql.ts'

/** How long one answer is good for; whoever asks meanwhile gets the same. */
const VALID_MS = 1_000
/** Nobody waits longer than this for an answer. */
const LONGEST_WAIT_MS = 2_000
/** So long that no page has room for a second one: every row makes the file grow, until vacuum cuts it. */
const FILLER_CHARACTERS = 8_000

/** Thrown to end the transaction: what was written was only a test. */
class RolledBack extends Error {}

/**
 * Finds out whether the database can be written to, by writing: a database that answers questions may still be read-only or
 * have a full disk. Asked when somebody wants to know, at most once a second.
 */
export class WriteCheck {
  readonly #db: Database
  #answer: Promise<Trouble | null> | undefined
  #isAsking = false
  #validUntil = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** What keeps the database from being written to; null when nothing does. Never throws. */
  trouble(): Promise<Trouble | null> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Trouble>((resolve) => {
      timer = setTimeout(() => resolve(notAnswering(LONGEST_WAIT_MS)), LONGEST_WAIT_MS)
    })
    return Promise.race([this.#ask(), late]).finally(() => clearTimeout(timer))
  }

  #ask(): Promise<Trouble | null> {
    if (this.#answer && (this.#isAsking || performance.now() < this.#validUntil)) return this.#answer
    this.#isAsking = true
    this.#answer = this.#write().finally(() => {
      this.#isAsking = false
      this.#validUntil = performance.now() + VALID_MS
    })
    return this.#answer
  }

  async #write(): Promise<Trouble | null> {
    try {
      await this.#db.transaction(async (tx) => {
        await tx.run(sql`insert into write_check (filler) values (repeat('x', ${FILLER_CHARACTERS}))`)
        throw new RolledBack()
      })
      return null
    } catch (error) {
      if (error instanceof RolledBack) return null
      return (
        troubleOf(error) ?? {
          code: 'unavailable',
          detail: `The database returned an error: ${messageOf(error)}.`,
        }
      )
    }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

import type { Database } from '../../store/database/database.ts'
import { notAnswering, type Trouble, troubleOf } from '../../store/database/database-trouble.ts'
import { sql } from '../../store/database/sql.ts'

/** How long one answer is valid; callers within this time share it. */
const VALID_MS = 1_000
/** Maximum time that a caller waits for an answer. */
const LONGEST_WAIT_MS = 2_000
/** So long that no page has room for a second row: every row makes the file grow, until vacuum truncates it. */
const FILLER_CHARACTERS = 8_000

/** Thrown to roll the transaction back: its write was only a test. */
class RolledBack extends Error {}

/**
 * Checks whether the database accepts writes, by writing: a database that answers queries may still be read-only or have a full
 * disk. Runs on demand, at most once a second.
 */
export class WriteCheck {
  readonly #db: Database
  #answer: Promise<Trouble | null> | undefined
  #isAsking = false
  #validUntil = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns why the database does not accept writes; null if it does. Never throws. */
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

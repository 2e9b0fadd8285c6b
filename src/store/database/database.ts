import pg from 'pg'
import { Refusal } from '../../core/errors.ts'
import type { Pooling } from '../../runtime/config/choices.ts'
import { failInsteadOfThrowing } from './driver-failures.ts'
import type { Statement } from './sql.ts'
import { parseTimestamp } from './timestamp.ts'

/** Whatever can run a statement: the pool, or one transaction. */
export interface Queryable {
  run<Row>(statement: Statement<Row>): Promise<Row[]>
}

export interface DatabaseOptions {
  readonly url: string
  readonly applicationName: string
  readonly maxConnections: number
  /** No statement may hold a connection longer than this. */
  readonly statementTimeoutMs: number
  /**
   * For the engine's statements, all of which know their index: on a table that was analysed while it was
   * empty the planner would rather sort a whole lane than walk its index. Lists that users ask for need
   * bitmap scans, so they go through connections without this.
   */
  readonly favourIndexes?: boolean
  /**
   * Keeps the plans of all small statements with each connection: to read and plan one for three runs takes longer than
   * to carry it out. For the engine, whose plans do not depend on values; elsewhere a statement may say so of itself. A
   * session of our own is needed for it.
   */
  readonly keepPlans?: boolean
  /**
   * For how long a connection keeps its PostgreSQL session: for good, or behind a pooler for one transaction.
   * There, settings of a session would be lost to us and found by strangers, so they travel with each
   * transaction; begin, statement and commit leave together, which keeps it at one round trip.
   */
  readonly pooling?: Pooling
}

const CONNECT_TIMEOUT_MS = 5_000
/** The server's own limit comes first; this one is for a server that does not answer at all. */
const CLIENT_TIMEOUT_MARGIN_MS = 2_000

/** What is run alone builds an index, at most. */
const LONGEST_ALONE_MS = 24 * 3_600_000

/** A transaction that we left alone for so long is over: a node that was stopped must not hold what others need. */
const IDLE_IN_TRANSACTION_MS = 60_000

const SNAPSHOT = 'set transaction isolation level repeatable read, read only; set local enable_seqscan = off'

const TIMESTAMPTZ = 1184
const INT8 = 20
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, parseTimestamp)
types.setTypeParser(INT8, Number)

/** Statements whose values are no longer than this together are small: some ten rows. */
const SMALL_LENGTH = 2_000
/** So are those with so few rows, for what their outputs are long: it is the number of rows that a kept plan is bad at. */
const FEW_ROWS = 24
const FEW_ROWS_LENGTH = 32_000

/**
 * The connection to the truth. Large statements go out unnamed on purpose, unless their plan is known never to change: a named
 * one would be planned generically, for ten array elements, and batches of a thousand would pay ten times their price.
 */
export class Database implements Queryable {
  readonly #pool: pg.Pool
  readonly #pooling: Pooling
  /** Whether plans are kept of all small statements, of those that say so, or of none. */
  readonly #keeps: 'all' | 'marked' | 'none'
  /** The names of the statements whose plans are kept, by their text. */
  readonly #names = new Map<string, string>()
  /** Opens a transaction, with its settings where the session has none. */
  readonly #begin: string
  /** Statements that can be under way at once. */
  readonly maxConnections: number
  /** What PostgreSQL calls the sessions of this pool; null behind a pooler, which shares them with others. */
  readonly sessionName: string | null

  constructor(options: DatabaseOptions) {
    const {
      url,
      applicationName,
      maxConnections,
      statementTimeoutMs,
      pooling = 'session',
      keepPlans = false,
    } = options
    const settings = settingsFor(options)
    this.#pooling = pooling
    this.maxConnections = maxConnections
    this.sessionName = pooling === 'session' ? applicationName : null
    this.#keeps = pooling !== 'session' ? 'none' : keepPlans ? 'all' : 'marked'
    this.#begin = pooling === 'session' ? 'begin' : `begin; ${assign('set local', settings)}`
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: applicationName,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      types,
      pipeline: pooling === 'transaction',
      // SET on connect, not startup options: a pooler in front of PostgreSQL refuses unknown ones.
      // And nothing prepared is left from before: a pooler may hand on a session as somebody of our kind has left it.
      onConnect: async (client) => {
        if (pooling === 'session') await client.query(`${assign('set', settings)}; deallocate all`)
      },
    })
    // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      failInsteadOfThrowing(client)
    })
  }

  async run<Row>(statement: Statement<Row>): Promise<Row[]> {
    if (this.#pooling === 'transaction') return this.#runWithSettings(statement)
    const { text } = statement
    const values = statement.values as unknown[]
    const name = this.#nameOf(statement)
    const { rows } = await this.#pool.query(name === undefined ? { text, values } : { name, text, values })
    return rowsOf(statement, rows)
  }

  /**
   * Runs a statement that PostgreSQL refuses within a transaction, for as long as it takes. Behind a pooler the session is
   * not ours to set, and the server's own limit of time applies.
   */
  async runAlone(text: string): Promise<void> {
    const client = await this.#pool.connect()
    try {
      if (this.#pooling === 'session') await client.query('set statement_timeout = 0')
      await client.query({ text, query_timeout: LONGEST_ALONE_MS } as pg.QueryConfig)
    } finally {
      client.release(true)
    }
  }

  /** A name for a statement that is planned once a connection; none for one that is planned each time. */
  #nameOf({ text, values, keepsPlan }: Statement<unknown>): string | undefined {
    const isKept = this.#keeps === 'all' || (this.#keeps === 'marked' && keepsPlan !== undefined)
    if (!isKept || (keepsPlan !== 'always' && !isSmall(values))) return undefined
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `belfry ${this.#names.size}`
    this.#names.set(text, name)
    return name
  }

  /** A statement between its begin and its commit, all sent at once: the first that fails tells why. */
  async #runWithSettings<Row>(statement: Statement<Row>): Promise<Row[]> {
    const client = await this.#pool.connect()
    const [begun, result, ended] = await Promise.allSettled([
      client.query(this.#begin),
      client.query(statement.text, statement.values as unknown[]),
      client.query('commit'),
    ])
    // The commit of a transaction that failed is a rollback, after which the connection is as good as new.
    const broken = [begun, ended].find(({ status }) => status === 'rejected')
    client.release(broken !== undefined)
    if (begun.status === 'rejected') throw begun.reason
    if (result.status === 'rejected') throw result.reason
    if (ended.status === 'rejected') throw ended.reason
    return rowsOf(statement, result.value.rows)
  }

  /**
   * Runs `work` in one transaction at read committed. A client that failed is handed back with its error,
   * so that the pool discards it: after a timeout the connection may still be busy with the old query.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#within(this.#begin, work)
  }

  /**
   * Runs `work` on what the database holds at one instant, for answers that take several statements. It may
   * only read, and must know an index for all it reads: on tables that have grown since they were analysed the
   * planner would rather read them whole. `inOrder` is for lists that an index gives in their own order, of
   * which it would rather sort everything; what is found by time alone needs bitmaps.
   */
  snapshot<T>(work: (tx: Queryable) => Promise<T>, { inOrder = false } = {}): Promise<T> {
    const snapshot = `${this.#begin}; ${SNAPSHOT}`
    return this.#within(inOrder ? `${snapshot}; set local enable_bitmapscan = off` : snapshot, work)
  }

  async #within<T>(begin: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    let failure: Error | undefined
    try {
      await client.query(begin)
      const result = await work({ run: (statement) => this.#runWithin(client, statement) })
      await client.query('commit')
      return result
    } catch (error) {
      const rolledBack = await client.query('rollback').then(
        () => true,
        () => false,
      )
      if (!rolledBack || isReadOnly(error))
        failure = error instanceof Error ? error : new Error(String(error))
      throw error
    } finally {
      client.release(failure)
    }
  }

  async #runWithin<Row>(client: pg.PoolClient, statement: Statement<Row>): Promise<Row[]> {
    const { text } = statement
    const values = statement.values as unknown[]
    const name = statement.keepsPlan === 'always' ? this.#nameOf(statement) : undefined
    const { rows } = await client.query(name === undefined ? { text, values } : { name, text, values })
    return rowsOf(statement, rows)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

function isSmall(values: readonly unknown[]): boolean {
  const length = lengthOf(values)
  return length <= SMALL_LENGTH || (length <= FEW_ROWS_LENGTH && values.every(hasFewRows))
}

/** Whether a value is no list of many elements. The elements of a list with quotes in it are as many as those of the list of ids beside it. */
const hasFewRows = (value: unknown): boolean =>
  typeof value !== 'string' || value.includes('"') || value.split(',', FEW_ROWS + 1).length <= FEW_ROWS

/** How long the values are as text; what is neither text nor a number may be of any length. */
const lengthOf = (values: readonly unknown[]): number =>
  values.reduce((sum: number, value) => {
    if (typeof value === 'string' || Buffer.isBuffer(value)) return sum + value.length
    return typeof value === 'object' && value !== null ? Number.POSITIVE_INFINITY : sum
  }, 0)

const rowsOf = <Row>({ read }: Statement<Row>, answer: unknown[]): Row[] =>
  read ? read(answer as never[]) : (answer as Row[])

/** What Belfry's statements count on, wherever they are run. */
function settingsFor({ statementTimeoutMs, favourIndexes = false }: DatabaseOptions): Record<string, string> {
  return {
    statement_timeout: String(Math.round(statementTimeoutMs)),
    idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
    timezone: "'UTC'",
    datestyle: "'ISO'",
    jit: 'off',
    ...(favourIndexes ? { enable_bitmapscan: 'off', enable_seqscan: 'off' } : {}),
  }
}

const assign = (how: 'set' | 'set local', settings: Record<string, string>) =>
  Object.entries(settings)
    .map(([name, value]) => `${how} ${name} = ${value}`)
    .join('; ')

/** SQLSTATE of an error from the server, if it is one. Each has a digit, which tells it from Node's EPIPE. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Name of the constraint that an error is about, if it is about one. */
export function violatedConstraint(error: unknown): string | undefined {
  return sqlState(error)?.startsWith('23')
    ? ((error as { constraint?: string }).constraint ?? undefined)
    : undefined
}

/** The session accepts no writes, and may have learnt so from a setting that no longer holds: a new one would know. */
const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006'

/**
 * Classes of errors that are about what was to be written, not about the moment: cardinality, data, constraints, views that
 * check, limits of a value's or an index entry's size, what a trigger raises, and what is damaged.
 */
const ABOUT_THE_DATA = ['21', '22', '23', '44', '54', 'P0', 'XX']

/**
 * True when something was refused for what it says: trying it again as it is leads to the same. A value that cannot even be
 * made into a statement, or a rule of ours that it breaks, counts as well.
 */
export function isRefused(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return ABOUT_THE_DATA.includes(state.slice(0, 2))
  if (error instanceof Refusal) return error.code !== 'unavailable'
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
}

/** True when history has no partition for the day of a row. Its message may be in any language; it names no constraint. */
export function isMissingPartition(error: unknown): boolean {
  return sqlState(error) === '23514' && violatedConstraint(error) === undefined
}

/** Codes of errors that a connection ends with before anything was sent over it. */
const NOT_CONNECTED = /^(ECONNREFUSED|ENOENT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/**
 * False when a statement that failed has certainly changed nothing: there was no connection to send it over, or the server
 * has refused it. True when the connection broke: it may have been carried out, and only the answer was lost.
 */
export function mayHaveBeenCarriedOut(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return state.startsWith('08') || (state.startsWith('57P') && state !== '57P03')
  const { code, message = '' } = (error ?? {}) as { code?: unknown; message?: string }
  return !NOT_CONNECTED.test(String(code)) && !message.includes('timeout exceeded when trying to connect')
}

/** True when the database could not be asked at all, or went away while it was: the caller may try again. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return state.startsWith('08') || state.startsWith('57P') || state.startsWith('53')
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return true
  const message = error instanceof Error ? error.message : ''
  return /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|not queryable/i.test(
    message,
  )
}

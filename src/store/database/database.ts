import pg from 'pg'
import { Refusal } from '../../core/errors.ts'
import type { Pooling } from '../../runtime/config/choices.ts'
import { failInsteadOfThrowing } from './driver-failures.ts'
import type { Statement } from './sql.ts'
import { parseTimestamp } from './timestamp.ts'

/** Anything that can run a statement: the pool, or one transaction. */
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
   * For the engine's statements, each of which has a suitable index: on a table that was analysed while it was empty, the
   * planner would rather sort a whole lane than scan its index. Lists requested by users need bitmap scans, so they use
   * connections without this option.
   */
  readonly favourIndexes?: boolean
  /**
   * Keeps the plans of all small statements in each connection: parsing and planning a statement for three runs takes longer
   * than executing it. For the engine, whose plans do not depend on values; elsewhere, a statement can request it with
   * `keepsPlan`. It requires a session that is not shared.
   */
  readonly keepPlans?: boolean
  /**
   * How long a connection keeps its PostgreSQL session: permanently, or, behind a pooler, for one transaction. In the second
   * case, settings of a session would be lost to this node and would affect other clients, so they are sent with each
   * transaction; begin, statement and commit are sent together, which keeps it at one round trip.
   */
  readonly pooling?: Pooling
}

const CONNECT_TIMEOUT_MS = 5_000
/** The server's own limit applies first; this one is for a server that does not answer at all. */
const CLIENT_TIMEOUT_MARGIN_MS = 2_000

/** Time limit of a statement that runs outside a transaction; the longest such statement builds an index. */
const LONGEST_ALONE_MS = 24 * 3_600_000

/** A transaction that is idle for this long is ended: a suspended node must not keep locks that others need. */
const IDLE_IN_TRANSACTION_MS = 60_000

const SNAPSHOT = 'set transaction isolation level repeatable read, read only; set local enable_seqscan = off'

const TIMESTAMPTZ = 1184
const INT8 = 20
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, parseTimestamp)
types.setTypeParser(INT8, Number)

/** Statements whose values have at most this total length are small: about ten rows. */
const SMALL_LENGTH = 2_000
/** Statements with few rows and long outputs are small too: a kept plan is bad for many rows, not for long values. */
const FEW_ROWS = 24
const FEW_ROWS_LENGTH = 32_000

/**
 * A pool of connections to PostgreSQL. Large statements are deliberately unnamed, unless their plan is known never to change: a
 * named statement would get a generic plan, for ten array elements, and a batch of a thousand would take ten times as long.
 */
export class Database implements Queryable {
  readonly #pool: pg.Pool
  readonly #pooling: Pooling
  /** Whether plans are kept for all small statements, for those that request it, or for none. */
  readonly #keeps: 'all' | 'marked' | 'none'
  /** Names of the statements whose plans are kept, by their text. */
  readonly #names = new Map<string, string>()
  /** Opens a transaction, including its settings if the session has none. */
  readonly #begin: string
  /** Maximum number of statements in progress at once. */
  readonly maxConnections: number
  /** The application name of this pool's sessions in PostgreSQL; null behind a pooler, which shares them with others. */
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
      // SET on connect, not startup options: a pooler in front of PostgreSQL rejects unknown options. Prepared statements are
      // discarded, because a pooler may hand over a session that another node has used.
      onConnect: async (client) => {
        if (pooling === 'session') await client.query(`${assign('set', settings)}; deallocate all`)
      },
    })
    // An idle connection that breaks is replaced at its next use; without a listener, its error would end the process.
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
   * Runs a statement that PostgreSQL does not allow within a transaction, without a time limit on the session. Behind a pooler,
   * the session's settings cannot be changed, and the server's own time limit applies.
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

  /** Returns the name of a statement that is planned once per connection; undefined if it is planned each time. */
  #nameOf({ text, values, keepsPlan }: Statement<unknown>): string | undefined {
    const isKept = this.#keeps === 'all' || (this.#keeps === 'marked' && keepsPlan !== undefined)
    if (!isKept || (keepsPlan !== 'always' && !isSmall(values))) return undefined
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `belfry ${this.#names.size}`
    this.#names.set(text, name)
    return name
  }

  /** Runs a statement between begin and commit, all sent at once, and throws the first error. */
  async #runWithSettings<Row>(statement: Statement<Row>): Promise<Row[]> {
    const client = await this.#pool.connect()
    const [begun, result, ended] = await Promise.allSettled([
      client.query(this.#begin),
      client.query(statement.text, statement.values as unknown[]),
      client.query('commit'),
    ])
    // The commit of a failed transaction is a rollback, after which the connection can be reused.
    const broken = [begun, ended].find(({ status }) => status === 'rejected')
    client.release(broken !== undefined)
    if (begun.status === 'rejected') throw begun.reason
    if (result.status === 'rejected') throw result.reason
    if (ended.status === 'rejected') throw ended.reason
    return rowsOf(statement, result.value.rows)
  }

  /**
   * Runs `work` in one transaction at read committed. A client that failed is released with its error, so that the pool
   * discards it: after a timeout, the connection may still be busy with the old query.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#within(this.#begin, work)
  }

  /**
   * Runs `work` on a snapshot of the database, for results that take several statements. The work may only read, and must have
   * an index for everything it reads: on tables that have grown since they were analysed, the planner would rather scan them
   * sequentially. `inOrder` is for lists that an index returns in order, which the planner would rather sort; rows that are
   * selected by time alone need bitmap scans.
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

/**
 * Whether a value is not a list of many elements. A list with quoted elements has as many of them as the list of ids next to
 * it.
 */
const hasFewRows = (value: unknown): boolean =>
  typeof value !== 'string' || value.includes('"') || value.split(',', FEW_ROWS + 1).length <= FEW_ROWS

/** Total length of the values as text; infinite if a value is neither text nor a number. */
const lengthOf = (values: readonly unknown[]): number =>
  values.reduce((sum: number, value) => {
    if (typeof value === 'string' || Buffer.isBuffer(value)) return sum + value.length
    return typeof value === 'object' && value !== null ? Number.POSITIVE_INFINITY : sum
  }, 0)

const rowsOf = <Row>({ read }: Statement<Row>, answer: unknown[]): Row[] =>
  read ? read(answer as never[]) : (answer as Row[])

/** Settings that Belfry's statements rely on. */
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

/** Returns the SQLSTATE of an error from the server. Each contains a digit, unlike Node's EPIPE. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Returns the name of the constraint that an error is about; undefined if there is none. */
export function violatedConstraint(error: unknown): string | undefined {
  return sqlState(error)?.startsWith('23')
    ? ((error as { constraint?: string }).constraint ?? undefined)
    : undefined
}

/**
 * Whether the session accepts no writes. It may have taken this from a setting that has changed since, which a new session
 * would know.
 */
const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006'

/**
 * Classes of errors caused by the data, not by the state of the server: cardinality, data, constraints, views with a check
 * option, limits on the size of a value or an index entry, errors raised by triggers, and corrupted data.
 */
const ABOUT_THE_DATA = ['21', '22', '23', '44', '54', 'P0', 'XX']

/**
 * Whether a write was rejected because of its content, so that trying it again unchanged would fail again. This includes values
 * that cannot be put into a statement, and violations of Belfry's own rules.
 */
export function isRefused(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return ABOUT_THE_DATA.includes(state.slice(0, 2))
  if (error instanceof Refusal) return error.code !== 'unavailable'
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
}

/** Whether history has no partition for the day of a row. The message may be in any language, and the error names no constraint. */
export function isMissingPartition(error: unknown): boolean {
  return sqlState(error) === '23514' && violatedConstraint(error) === undefined
}

/** Codes of errors with which a connection attempt ends before anything was sent. */
const NOT_CONNECTED = /^(ECONNREFUSED|ENOENT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/**
 * Whether a failed statement may have changed something. False if there was no connection to send it over, or the server
 * rejected it. True if the connection broke: the statement may have been executed, and only the response was lost.
 */
export function mayHaveBeenCarriedOut(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return state.startsWith('08') || (state.startsWith('57P') && state !== '57P03')
  const { code, message = '' } = (error ?? {}) as { code?: unknown; message?: string }
  return !NOT_CONNECTED.test(String(code)) && !message.includes('timeout exceeded when trying to connect')
}

/** Whether the database could not be reached, or became unavailable during the request: the caller may try again. */
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

/** Checks at start whether this node receives the notifications of other nodes. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Database, isUnavailable } from '../store/database/database.ts'
import { sql } from '../store/database/sql.ts'
import { describeFailure, shownUrl } from './database.ts'
import { CliError, EXIT } from './exit.ts'

const CONNECT_MS = 5_000
/** A NOTIFY takes milliseconds; what was not heard by then never will be. */
const PATIENCE_MS = 3_000

/** How long a wake-up took, or why there are none for the time being. */
export type Hearing =
  | { readonly kind: 'heard'; readonly ms: number }
  | { readonly kind: 'unreachable'; readonly error: Error }

/**
 * Sends one through the database and waits for it at the address given for listening. Refuses an address at which
 * it can never be heard: another database, or a pooler of transactions, where to listen is silently without effect.
 */
export async function tryWakeUps(db: Database, directUrl: string): Promise<Hearing> {
  const channel = `belfry_probe_${randomBytes(8).toString('hex')}`
  const client = new pg.Client({
    connectionString: directUrl,
    application_name: 'belfry wake-ups',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`listen ${channel}`)
    const heard = new Promise<true>((resolve) => client.once('notification', () => resolve(true)))
    const sentAt = performance.now()
    await db.run(sql`select pg_notify(${channel}, '')`)
    if (await soon(heard)) return { kind: 'heard', ms: Math.round(performance.now() - sentAt) }
  } catch (error) {
    if (isUnavailable(error)) return { kind: 'unreachable', error: error as Error }
    throw describeFailure(error, directUrl, '--database-direct-url')
  } finally {
    await client.end().catch(() => {})
  }
  throw new CliError(
    `Notifications sent through --database-url do not arrive at --database-direct-url (${shownUrl(directUrl)}).`,
    'Both must name the same database; --database-direct-url must connect directly or through a pooler in session mode.',
    EXIT.usage,
  )
}

async function soon(heard: Promise<true>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS)
  })
  const isHeard = await Promise.race([heard, late])
  clearTimeout(timer)
  return isHeard
}

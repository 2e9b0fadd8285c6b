/** Checks at start whether this node receives the notifications of other nodes. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Database, isUnavailable } from '../store/database/database.ts'
import { sql } from '../store/database/sql.ts'
import { describeFailure, shownUrl } from './database.ts'
import { CliError, EXIT } from './exit.ts'

const CONNECT_MS = 5_000
/** A NOTIFY arrives within milliseconds; if it has not arrived by then, it never will. */
const PATIENCE_MS = 3_000

/** How long the wake-up took, or why wake-ups do not arrive at present. */
export type Hearing =
  | { readonly kind: 'heard'; readonly ms: number }
  | { readonly kind: 'unreachable'; readonly error: Error }

/**
 * Sends a wake-up through the database and waits for it at the address for listening. Rejects an address where it can never
 * arrive: another database, or a pooler in transaction mode, where LISTEN silently has no effect.
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

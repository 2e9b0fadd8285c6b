/**
 * Who is at the other end of an address: PostgreSQL itself, or a pooler, and what that shares among its clients.
 * Nothing here asks a pooler for its name, since there are many; what counts is whether two connections that are
 * both open can be answered by one and the same backend. Nothing is set either: it might be found by strangers.
 */
import pg from 'pg'

/** What a look at an address has told. */
export interface Met {
  /** Of the PostgreSQL behind it, such as '18.4'. */
  readonly version: string
  /** How long a pooler in between keeps a backend for a client; null without one. */
  readonly pooler: 'session' | 'transaction' | 'statement' | null
}

const TIMEOUT_MS = 5_000
/** On a busy pooler chance may give two clients different backends, though hardly so often. */
const ROUNDS = 5

export async function meet(url: string): Promise<Met> {
  const client = aClient(url)
  try {
    await client.connect()
    const { rows } = await client.query<{ version: string; pid: number }>(
      `select current_setting('server_version') as version, pg_backend_pid() as pid`,
    )
    const version = rows[0]?.version.split(' ')[0] ?? 'unknown'
    // PostgreSQL introduces itself by the number of its process; a pooler makes up one of its own.
    const isDirect = (client as { processID?: number }).processID === rows[0]?.pid
    return { version, pooler: isDirect ? null : await whatIsShared(client, url) }
  } finally {
    await client.end().catch(() => {})
  }
}

async function whatIsShared(one: pg.Client, url: string): Promise<NonNullable<Met['pooler']>> {
  const other = aClient(url)
  try {
    await other.connect()
    for (let round = 0; round < ROUNDS; round++) {
      if (await changesBackend(one, other)) return 'transaction'
    }
    return 'session'
  } catch (error) {
    // PgBouncer says so itself, with the code of a broken protocol.
    if (error instanceof Error && /statement pooling/i.test(error.message)) return 'statement'
    throw error
  } finally {
    await other.end().catch(() => {})
  }
}

/**
 * Whoever has a backend for good meets no other, and nobody else meets it. A transaction of the other client
 * takes the backend that was free last, if backends become free at all.
 */
async function changesBackend(one: pg.Client, other: pg.Client): Promise<boolean> {
  const before = await backendOf(one)
  await other.query('begin')
  const held = await backendOf(other)
  const after = held === before ? held : await backendOf(one)
  await other.query('rollback')
  return held === before || after !== before
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

function aClient(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'belfry',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  })
  client.on('error', () => {})
  return client
}

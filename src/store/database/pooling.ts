/**
 * Determines whether an address leads to PostgreSQL itself or to a pooler, and what the pooler shares among its clients. It
 * does not rely on the pooler's name, since there are many poolers; the criterion is whether two open connections can be served
 * by the same backend. It sets nothing, because other clients might see the settings.
 */
import pg from 'pg'

/** What was found at an address. */
export interface Met {
  /** Version of the PostgreSQL server, such as '18.4'. */
  readonly version: string
  /** How long a pooler keeps a backend for a client; null without a pooler. */
  readonly pooler: 'session' | 'transaction' | 'statement' | null
}

const TIMEOUT_MS = 5_000
/** On a busy pooler, two clients may get different backends by chance, but hardly in every round. */
const ROUNDS = 5

export async function meet(url: string): Promise<Met> {
  const client = aClient(url)
  try {
    await client.connect()
    const { rows } = await client.query<{ version: string; pid: number }>(
      `select current_setting('server_version') as version, pg_backend_pid() as pid`,
    )
    const version = rows[0]?.version.split(' ')[0] ?? 'unknown'
    // PostgreSQL reports its process id on connect; a pooler makes up its own.
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
    // PgBouncer reports statement pooling itself, with the code of a protocol violation.
    if (error instanceof Error && /statement pooling/i.test(error.message)) return 'statement'
    throw error
  } finally {
    await other.end().catch(() => {})
  }
}

/**
 * Returns whether a client's backend changes or is shared with the other client. A client that keeps its backend never shares
 * it. Otherwise, a transaction of the other client takes the backend that became free last.
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

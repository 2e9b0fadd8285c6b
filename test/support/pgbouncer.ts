/**
 * A real PgBouncer in front of a test database, configured as its users do: few connections to the server, shared by all
 * clients. It accepts everybody on loopback, and logs in with the credentials in the database's address.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { whenDone } from './cleanup.ts'
import { eventually } from './eventually.ts'

export interface PgBouncer {
  /** The database's address, through PgBouncer. */
  readonly url: string
  /** Ends it, as its init script would (SIGTERM) or as a crash does, and starts it again in the same place. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export interface PgBouncerOptions {
  readonly poolMode?: 'transaction' | 'session' | 'statement'
  /** Connections to the server that all clients share. */
  readonly poolSize?: number
  /** Whether a session is made as good as new before another client gets it. */
  readonly resets?: boolean
}

const PLACES = [
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
  '/usr/local/bin/pgbouncer',
  '/opt/homebrew/bin/pgbouncer',
]
const NOBODY = 65_534
const START_MS = 10_000
/** How many sessions are looked at; each is held until all have been. */
const SESSIONS = 4
/** What PgBouncer itself sets in a session, as its current client wants it. */
const TRACKED = [
  'client_encoding',
  'application_name',
  'TimeZone',
  'DateStyle',
  'standard_conforming_strings',
]

export async function startPgBouncer(
  databaseUrl: string,
  { poolMode = 'transaction', poolSize = 4, resets = true }: PgBouncerOptions = {},
): Promise<PgBouncer> {
  const program = PLACES.find((place) => existsSync(place))
  if (!program) throw new Error(`PgBouncer is not in ${PLACES.join(', ')}: npm run suite pooler installs it`)
  const server = serverOf(databaseUrl)
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'belfry-pgbouncer-'))
  chmodSync(directory, 0o755)
  const file = join(directory, 'pgbouncer.ini')
  const login = Object.entries(server.login)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${quoted(value)}`)
  writeFileSync(
    file,
    `[databases]
* = ${login.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
max_client_conn = 500
${resets ? '' : 'server_reset_query ='}
`,
  )
  let child = await launch(program, file, { port, uid: server.uid })
  const end = (signal: NodeJS.Signals) => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode !== null || child.signalCode !== null) return undefined
    child.kill(signal)
    return ended
  }
  whenDone(async () => {
    await end('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    url: `postgresql://belfry@127.0.0.1:${port}/${server.database}`,
    restart: async (signal) => {
      await end(signal)
      child = await launch(program, file, { port, uid: server.uid })
    },
  }
}

/** Returns the settings that other users of the pooler would find in its sessions, as far as they are not PostgreSQL's defaults. */
export async function leftBehind(url: string): Promise<string[]> {
  const clients = Array.from({ length: SESSIONS }, () => new pg.Client({ connectionString: url }))
  try {
    for (const client of clients) {
      await client.connect()
      await client.query('begin') // Holds its session, so that the next one gets another.
    }
    const found = await Promise.all(
      clients.map((client) => client.query(`select name from pg_settings where source = 'session'`)),
    )
    return found.flatMap(({ rows }) => rows.map(({ name }) => name)).filter((name) => !TRACKED.includes(name))
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

/** Runs in the foreground, so that it is our child and ends with us. */
async function launch(
  program: string,
  file: string,
  { port, uid }: { port: number; uid: number | undefined },
): Promise<ChildProcess> {
  const child = spawn(program, ['-q', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = (said + chunk).slice(-5_000)
  })
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(`PgBouncer does not start:\n${said}`)
      return accepts(port)
    },
    { withinMs: START_MS },
  )
  return child
}

interface Server {
  readonly database: string
  readonly login: { host: string; port: string; user: string; password: string }
  /** The user that may access the socket; PgBouncer refuses to run as root anyway. */
  readonly uid: number | undefined
}

function serverOf(databaseUrl: string): Server {
  // Addresses of unix sockets have no host, which a URL needs.
  const url = new URL(databaseUrl.replace('@/', '@localhost/'))
  const socketDir = url.searchParams.get('host')
  const isRoot = process.getuid?.() === 0
  return {
    database: url.pathname.slice(1),
    login: {
      host: socketDir ?? url.hostname,
      port: url.searchParams.get('port') ?? (url.port || '5432'),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
    },
    uid: isRoot ? (socketDir === null ? NOBODY : statSync(socketDir).uid) : undefined,
  }
}

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}

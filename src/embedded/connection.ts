/** Connects to the server: its address, whether it responds, and creation of its database. */

import { existsSync, readFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import pg from 'pg'
import { type DataDirectory, SOCKET_PORT, socketIn } from './data-directory.ts'
import { writeDurably } from './durable-files.ts'
import { ROLE } from './initialise.ts'
import { withRightsOf } from './rights.ts'
import type { Listening } from './settings.ts'

export const DATABASE = 'belfry'
const CONNECT_TIMEOUT_MS = 10_000
const NO_SUCH_DATABASE = '3D000'
const DUPLICATE_DATABASE = '42P04'

/** Chooses where the server of this directory listens. The port stays the same across starts if it is free. */
export async function chooseListening({ socketDir, port: file, owner }: DataDirectory): Promise<Listening> {
  if (socketDir !== null) return { socketDir, port: SOCKET_PORT }
  const remembered = withRightsOf(owner, () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0))
  const port = (remembered > 0 ? await freePort(remembered) : null) ?? (await freePort(0)) ?? 0
  if (port !== remembered) withRightsOf(owner, () => writeDurably(file, `${port}\n`))
  return { socketDir, port }
}

export function connectionStringFor(listening: Listening, password: string, database = DATABASE): string {
  const { socketDir, port } = listening
  const login = `${ROLE}:${encodeURIComponent(password)}`
  return socketDir === null
    ? `postgresql://${login}@127.0.0.1:${port}/${database}`
    : `postgresql://${login}@/${database}?host=${encodeURIComponent(socketDir)}&port=${port}`
}

/** Whether anyone accepts connections on the socket, be it in another container that shares the directory. */
export function answers(socketDir: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketIn(socketDir))
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Returns the server's version, such as '18.4'. Creates the database if it does not exist. */
export async function ensureDatabase(listening: Listening, password: string): Promise<string> {
  try {
    return await versionOf(connectionStringFor(listening, password))
  } catch (error) {
    if (!isDatabaseError(error, NO_SUCH_DATABASE)) throw error
  }
  await withClient(connectionStringFor(listening, password, 'postgres'), async (client) => {
    try {
      await client.query(`create database ${DATABASE}`)
    } catch (error) {
      if (!isDatabaseError(error, DUPLICATE_DATABASE)) throw error
    }
  })
  return versionOf(connectionStringFor(listening, password))
}

function versionOf(connectionString: string): Promise<string> {
  return withClient(connectionString, async (client) => {
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return rows[0]?.server_version ?? ''
  })
}

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {}) // The query in hand fails with the same error.
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}

function isDatabaseError(error: unknown, code: string): boolean {
  return error instanceof pg.DatabaseError && error.code === code
}

/** Returns the port if it is free, or any free port for 0; null if it is in use. */
function freePort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const probe: Server = createServer()
    probe.once('error', () => resolve(null))
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null))
    })
  })
}

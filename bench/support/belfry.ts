/** The product under measurement: a database of its own and real processes on it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/server.ts'
import { Database } from '../../src/store/database.ts'
import { migrate, readMigrations } from '../../src/store/migrate.ts'

/** Set by bench/run.mjs when it bundles. */
declare const PROJECT_ROOT: string
const ROOT = PROJECT_ROOT

export interface Bench {
  readonly server: EmbeddedPostgres
  readonly url: string
  readonly db: Database
  close(): Promise<void>
}

/** A new, durable PostgreSQL with the settings the product itself uses. */
export async function openBench(): Promise<Bench> {
  const dataDir = mkdtempSync(join(tmpdir(), 'belfry-bench-'))
  const server = await startEmbeddedPostgres({ dataDir })
  const url = server.connectionString
  const db = new Database({
    url,
    applicationName: 'belfry bench',
    maxConnections: 4,
    statementTimeoutMs: 600_000,
  })
  await migrate(db, await readMigrations(join(ROOT, 'migrations')))
  return {
    server,
    url,
    db,
    close: async () => {
      await db.close()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

export interface RunningNode {
  readonly pid: number
  readonly child: ChildProcess
  stop(): Promise<void>
}

/** One node as its own process, ready for work when this resolves. */
export async function startBelfry(url: string, flags: readonly string[] = []): Promise<RunningNode> {
  const args = [
    ...process.execArgv.filter((arg) => arg.startsWith('--cpu-prof')),
    join(ROOT, 'dist', 'main.js'),
    'start',
    '--database-url',
    url,
    '--port',
    '0',
    '--log-level',
    'warn',
    ...flags,
  ]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  await new Promise<void>((ready, failed) => {
    let seen = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk
      if (seen.includes('Stop ')) ready()
    })
    child.once('exit', (code) => failed(new Error(`belfry ended with ${code}:\n${seen}`)))
  })
  child.removeAllListeners('exit')
  return {
    pid: child.pid as number,
    child,
    stop: () =>
      new Promise((done) => {
        child.once('exit', () => done())
        child.kill('SIGTERM')
      }),
  }
}

/**
 * Clocks that go wrong on purpose, by libfaketime: a PostgreSQL whose clock the test sets and slews while it runs, and the
 * environment for nodes whose clocks differ from the machine's. The machine's own clock stays as it is.
 */
import { chmodSync, existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVER_ENV } from '../../src/embedded/initialise.ts'
import { startEmbeddedPostgres } from '../../src/embedded/server.ts'
import { Database } from '../../src/store/database/database.ts'
import { migrate, readMigrations } from '../../src/store/schema/migrate.ts'
import { MIGRATIONS, withDatabase } from '../support/database.ts'
import { aDirectory } from '../support/process.ts'

/** Threads need the other of the two libraries; PostgreSQL and Node are content with it. */
const LIBRARY = 'libfaketimeMT.so.1'
const TICK_MS = 10

/** Where Debian and others put it, below a folder that is named after the machine. */
export function findLibrary(): string {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
  const below = folders.flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [],
  )
  const found = [...folders, ...below]
    .map((folder) => join(folder, 'faketime', LIBRARY))
    .find((path) => existsSync(path))
  if (!found) throw new Error(`${LIBRARY} is not there: npm run suite clocks installs it, or says how to`)
  return found
}

/** For a node whose wall clock is off by so much and goes so fast; its monotonic clock stays right. */
export const wallClock = (spec: string): Record<string, string> => ({
  LD_PRELOAD: findLibrary(),
  FAKETIME: spec,
  // Else a clock that goes back would stop every timer.
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})

/** For a node all of whose clocks go too fast, or too slow. */
export const everyClock = (rate: number): Record<string, string> => ({
  LD_PRELOAD: findLibrary(),
  FAKETIME: `+0 x${rate}`,
})

export class FakedPostgres {
  readonly #file: string
  readonly #adminUrl: string
  readonly #stop: () => Promise<void>
  /** Where the clock was at instants of the machine's clock, oldest first. */
  readonly #offsets: { readonly from: number; readonly ms: number }[] = []
  #slewing: NodeJS.Timeout | undefined
  #databases = 0

  private constructor(file: string, adminUrl: string, stop: () => Promise<void>) {
    this.#file = file
    this.#adminUrl = adminUrl
    this.#stop = stop
  }

  static async start(): Promise<FakedPostgres> {
    const directory = aDirectory()
    const file = join(directory, 'clock')
    write(file, 0)
    const faked = {
      LD_PRELOAD: findLibrary(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    Object.assign(SERVER_ENV, faked)
    try {
      const server = await startEmbeddedPostgres({
        dataDir: join(directory, 'data'),
        settings: { fsync: 'off', full_page_writes: 'off' },
      })
      return new FakedPostgres(file, server.connectionString, () => server.stop())
    } finally {
      for (const name of Object.keys(faked)) delete (SERVER_ENV as Record<string, string>)[name]
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#slewing)
    await this.#stop()
  }

  /** A migrated database of its own, with the clock right. */
  async database(): Promise<{ url: string; db: Database }> {
    this.set(0)
    const name = `clocks_${++this.#databases}`
    const admin = open(this.#adminUrl)
    await admin.run({ text: `create database ${name}`, values: [] })
    await admin.close()
    const url = withDatabase(this.#adminUrl, name)
    const db = open(url)
    await migrate(db, await readMigrations(MIGRATIONS))
    return { url, db }
  }

  /** Sets the clock: so far from the machine's. */
  set(ms: number): void {
    clearInterval(this.#slewing)
    this.#write(ms)
  }

  /** Lets the clock go slower or faster from now on, in steps too small to matter. */
  slew(rate: number): void {
    clearInterval(this.#slewing)
    const startedAt = performance.now()
    const before = this.#offsets.at(-1)?.ms ?? 0
    this.#slewing = setInterval(
      () => this.#write(before + (performance.now() - startedAt) * (rate - 1)),
      TICK_MS,
    )
  }

  /** What the database's clock showed at an instant of the machine's. */
  at(machineMs: number): number {
    return machineMs + (this.#offsets.findLast(({ from }) => from <= machineMs)?.ms ?? 0)
  }

  #write(ms: number): void {
    write(this.#file, ms)
    this.#offsets.push({ from: Date.now(), ms })
  }
}

/** In one piece: a server that read half of a number would make a leap. */
function write(file: string, ms: number): void {
  const draft = `${file}.new`
  writeFileSync(draft, `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1_000).toFixed(6)}\n`)
  chmodSync(draft, 0o644)
  renameSync(draft, file)
}

const open = (url: string) =>
  new Database({ url, applicationName: 'belfry test', maxConnections: 4, statementTimeoutMs: 30_000 })

/** Measures layouts of the due index, one after the other on one connection, whose CPU time is what is counted. */
import { randomUUID } from 'node:crypto'
import { uuidv7 } from '../../src/core/ids.ts'
import { type Database, sqlState, violatedConstraint } from '../../src/store/database/database.ts'
import { type Statement, sql } from '../../src/store/database/sql.ts'
import { ownCpuUs } from './cpu.ts'
import {
  createLayout,
  endRows,
  fillLayout,
  fireRows,
  insertRows,
  type Key,
  LAYOUTS,
  type LayoutName,
  look,
  type Row,
  retryRows,
  tableOf,
} from './due-layouts.ts'
import { checkpoint } from './postgres.ts'
import type { Report } from './report.ts'

const DAYS = 30
const DAY_MS = 86_400_000
export const BATCH = 1_000
/** A statement that names no partition searches all of them, so fewer rows are enough. */
export const FEW = 2_000
const STEPS = ['insert', 'look', 'fire', 'retry, same partition', 'retry, another', 'end'] as const
type Step = (typeof STEPS)[number]

export interface Way {
  readonly layout: LayoutName
  readonly key: Key
}
export const WAYS: readonly Way[] = [
  { layout: 'shards', key: 'id' },
  { layout: 'days', key: 'id and time' },
  { layout: 'hours', key: 'id and time' },
  { layout: 'days', key: 'id' },
  { layout: 'hours', key: 'id' },
]
export const nameOf = ({ layout, key }: Way) => `${layout}, by ${key}`
export const isSlow = ({ layout, key }: Way) => layout !== 'shards' && key === 'id'

interface Cost {
  readonly way: string
  readonly step: Step
  readonly rows: number
  readonly cpuUs: number
  readonly walBytes: number
}

export class DueTrial {
  readonly #db: Database
  readonly #watching: Database
  readonly #costs: Cost[] = []
  readonly #workerId = randomUUID()
  #pid = 0

  constructor(db: Database, watching: Database) {
    this.#db = db
    this.#watching = watching
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  async fill(count: number, report: Report): Promise<void> {
    const [backend] = await this.#db.run(sql<{ pid: number }>`select pg_backend_pid() as pid`)
    this.#pid = backend?.pid ?? 0
    const now = Date.now()
    for (const layout of LAYOUTS) {
      const partitions = await createLayout(this.#db, layout, DAYS + 2)
      report.step(`${layout}: ${partitions} tables, ${count} rows`)
      await this.#db.run(fillLayout(layout, { count, from: now + 60_000, until: now + DAYS * DAY_MS }))
      await this.#db.run({ text: `vacuum analyze ${tableOf(layout)}`, values: [] })
    }
    await checkpoint(this.#watching)
  }

  /** Inserts, reads, fires, partly retries and ends rows, a batch at a time. */
  async take(way: Way, count: number): Promise<void> {
    const { layout, key } = way
    const from = Date.now() - 1_000
    const rows = Array.from({ length: count }, (_, i): Row => {
      const fence = 0
      return { runId: uuidv7(), shard: i % 64, fence, wakeAt: from + (i % 1_000) }
    })
    await this.#batches(way, 'insert', rows, (batch) => insertRows(layout, batch))
    const limitPerShard = Math.ceil(BATCH / 64)
    await this.#measure(way, 'look', count, async () => {
      for (let i = 0; i < count / BATCH; i++)
        await this.#db.run(look(layout, { from: null, until: Date.now() + 10_000, limitPerShard }))
    })
    await this.#batches(way, 'fire', rows, (batch) => fireRows(layout, key, this.#workerId, batch))
    const fired = rows.map((row) => ({ ...row, fence: 1 }))
    const [near, far] = [fired.slice(0, count / 5), fired.slice(count / 5, (2 * count) / 5)]
    const retried = [
      ...(await this.#retry(way, 'retry, same partition', 0, near)),
      ...(await this.#retry(way, 'retry, another', DAY_MS + 3_600_000, far)),
    ]
    await this.#batches(way, 'end', [...retried, ...fired.slice((2 * count) / 5)], (batch) =>
      endRows(layout, key, batch),
    )
  }

  async #retry({ layout, key }: Way, step: Step, byMs: number, rows: readonly Row[]): Promise<Row[]> {
    // A millisecond is enough to change the indexes, and too little to change the partition.
    const moveMs = byMs === 0 ? 1 : byMs
    await this.#batches({ layout, key }, step, rows, (batch) => retryRows(layout, key, moveMs, batch))
    return rows.map((row) => ({ ...row, wakeAt: row.wakeAt + moveMs }))
  }

  async #batches(
    way: Way,
    step: Step,
    rows: readonly Row[],
    statement: (batch: readonly Row[]) => Statement<unknown>,
  ): Promise<void> {
    await this.#measure(way, step, rows.length, async () => {
      for (let i = 0; i < rows.length; i += BATCH) {
        const batch = rows.slice(i, i + BATCH)
        const answer = await this.#db.run(statement(batch))
        if (step !== 'insert' && answer.length !== batch.length)
          throw new Error(`${nameOf(way)}: ${step} found ${answer.length} of ${batch.length} rows`)
      }
    })
  }

  async #measure(way: Way, step: Step, rows: number, work: () => Promise<void>): Promise<void> {
    const before = { cpu: ownCpuUs(this.#pid), wal: await this.#wal() }
    await work()
    const cpuUs = ownCpuUs(this.#pid) - before.cpu
    this.#costs.push({ way: nameOf(way), step, rows, cpuUs, walBytes: (await this.#wal()) - before.wal })
  }

  async #wal(): Promise<number> {
    const [row] = await this.#watching.run(
      sql<{ bytes: string }>`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes`,
    )
    return Number(row?.bytes)
  }

  tell(report: Report): void {
    const per = (way: Way, step: Step, of: (cost: Cost) => number) => {
      const costs = this.#costs.filter((cost) => cost.way === nameOf(way) && cost.step === step)
      const sum = (pick: (cost: Cost) => number) => costs.reduce((total, cost) => total + pick(cost), 0)
      return sum(of) / sum(({ rows }) => rows)
    }
    const table = (key: string, title: string, of: (cost: Cost) => number) =>
      report.table<Way>(
        key,
        title,
        [
          { title: 'layout', of: nameOf },
          ...STEPS.map((step) => ({ title: step, of: (way: Way) => per(way, step, of) })),
        ],
        WAYS,
      )
    table('cpu', 'CPU µs/row', ({ cpuUs }) => cpuUs)
    table('wal', 'WAL B/row', ({ walBytes }) => walBytes)
    report.results['costs'] = this.#costs
  }

  /** What planning takes, what it locks, and how much is read to find that nothing is due. */
  async explain(report: Report): Promise<void> {
    const rows: Plan[] = []
    for (const way of WAYS) {
      const { layout, key } = way
      const batch = Array.from({ length: BATCH }, (_, i): Row => {
        return { runId: uuidv7(), shard: i % 64, fence: 0, wakeAt: Date.now() - (i % 1_000) }
      })
      const now = Date.now()
      const ahead = look(layout, { from: now, until: now + 10_000, limitPerShard: 125 })
      const all = look(layout, { from: null, until: now, limitPerShard: 125 })
      rows.push({
        way: nameOf(way),
        lookMs: await this.#planning(ahead),
        fireMs: await this.#planning(fireRows(layout, key, this.#workerId, batch)),
        endMs: await this.#planning(endRows(layout, key, batch)),
        locks: await this.#locks(fireRows(layout, key, this.#workerId, batch)),
        pagesAhead: await this.#pages(ahead),
        pagesAll: await this.#pages(all),
        pagesAgain: await this.#pages(all),
      })
    }
    report.table<Plan>(
      'plans',
      'Planning in ms, locks of one fire, and pages that a look reads, with the dead rows of all rounds in front',
      [
        { title: 'layout', of: (plan) => plan.way },
        { title: 'plan look', of: (plan) => plan.lookMs },
        { title: 'plan fire', of: (plan) => plan.fireMs },
        { title: 'plan end', of: (plan) => plan.endMs },
        { title: 'locks', of: (plan) => plan.locks },
        { title: 'pages ahead', of: (plan) => plan.pagesAhead },
        { title: 'all overdue', of: (plan) => plan.pagesAll },
        { title: 'again', of: (plan) => plan.pagesAgain },
      ],
      rows,
    )
  }

  /** The median of five, after the first one, which reads the catalogue. */
  async #planning({ text, values }: Statement<unknown>): Promise<number> {
    const times: number[] = []
    for (let i = 0; i < 6; i++) {
      const [row] = await this.#db.run<ExplainRow>({ text: `explain (summary, format json) ${text}`, values })
      times.push(row?.['QUERY PLAN'][0]['Planning Time'] ?? 0)
    }
    return times.slice(1).sort((a, b) => a - b)[2] ?? 0
  }

  async #pages({ text, values }: Statement<unknown>): Promise<number> {
    const [row] = await this.#db.run<ExplainRow>({
      text: `explain (analyze, buffers, timing off, format json) ${text}`,
      values,
    })
    const plan = row?.['QUERY PLAN'][0].Plan
    return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
  }

  #locks({ text, values }: Statement<unknown>): Promise<number> {
    return this.#db.transaction(async (tx) => {
      await tx.run({ text, values })
      const [row] = await tx.run(
        sql<{
          count: number
        }>`select count(*)::integer as count from pg_locks where pid = pg_backend_pid() and relation is not null`,
      )
      return row?.count ?? 0
    })
  }

  /** What autovacuum would have to do about the dead rows. */
  async vacuum(report: Report): Promise<void> {
    const rows = []
    for (const layout of LAYOUTS) {
      const [dead] = await this.#db.run<{ count: number; mib: number }>({
        text: `select sum(s.n_dead_tup)::integer as count, sum(pg_total_relation_size(s.relid))::float8 / 1048576 as mib
               from pg_stat_user_tables s where s.relname = '${tableOf(layout)}' or s.relname like '${tableOf(layout)}\\_%'`,
        values: [],
      })
      const before = { cpu: ownCpuUs(this.#pid), at: performance.now() }
      const touched = await this.#tablesWithDead(layout)
      for (const name of touched) await this.#db.run({ text: `vacuum (parallel 0) ${name}`, values: [] })
      const cpuMs = (ownCpuUs(this.#pid) - before.cpu) / 1_000
      const ms = performance.now() - before.at
      rows.push({ layout, tables: touched.length, dead: dead?.count ?? 0, mib: dead?.mib ?? 0, cpuMs, ms })
    }
    report.table<(typeof rows)[number]>(
      'vacuum',
      'Vacuuming the tables that have dead rows',
      [
        { title: 'layout', of: (row) => row.layout },
        { title: 'MiB', of: (row) => row.mib },
        { title: 'tables', of: (row) => row.tables },
        { title: 'dead rows', of: (row) => row.dead },
        { title: 'CPU ms', of: (row) => row.cpuMs },
        { title: 'µs/dead row', of: (row) => (1_000 * row.cpuMs) / Math.max(1, row.dead) },
        { title: 'ms', of: (row) => row.ms },
      ],
      rows,
    )
  }

  async #tablesWithDead(layout: LayoutName): Promise<string[]> {
    const found = await this.#db.run<{ name: string }>({
      text: `select relname as name from pg_stat_user_tables
             where n_dead_tup > 0 and (relname = '${tableOf(layout)}' or relname like '${tableOf(layout)}\\_%')`,
      values: [],
    })
    return found.map(({ name }) => name)
  }

  /** Rows beyond the last partition, and one occurrence twice under two instants. */
  async lookFar(report: Report): Promise<void> {
    const rows = []
    const beyond = Date.now() + 40 * DAY_MS
    for (const layout of LAYOUTS) {
      await this.#db.run(
        fillLayout(layout, { count: FAR_ROWS, from: beyond, until: beyond + 1_825 * DAY_MS }),
      )
      rows.push({ layout, attachMs: await this.#attach(layout, beyond), twice: await this.#twice(layout) })
    }
    report.table<(typeof rows)[number]>(
      'far',
      `${FAR_ROWS} rows due between 40 days and 5 years ahead: making the partition of one more day or hour, and one occurrence twice`,
      [
        { title: 'layout', of: (row) => row.layout },
        { title: 'locked for ms', of: (row) => row.attachMs },
        { title: 'the second is', of: (row) => row.twice },
      ],
      rows,
    )
  }

  /** Moves the rows of a new partition out of the default partition, which is locked meanwhile. */
  async #attach(layout: LayoutName, from: number): Promise<number | null> {
    if (layout === 'shards') return null
    const table = tableOf(layout)
    const [first, last] = [from, from + (layout === 'days' ? DAY_MS : DAY_MS / 24)].map(
      (ms) => `'${new Date(ms).toISOString()}'`,
    )
    const startedAt = performance.now()
    await this.#db.transaction(async (tx) => {
      const run = (text: string) => tx.run({ text, values: [] })
      await run(`lock table ${table}_other in access exclusive mode`)
      await run(`create table ${table}_new (like ${table} including defaults including constraints)`)
      await run(
        `with moved as (delete from ${table}_other where wake_at >= ${first} and wake_at < ${last} returning *)
         insert into ${table}_new select * from moved`,
      )
      await run(`alter table ${table} attach partition ${table}_new for values from (${first}) to (${last})`)
    })
    return performance.now() - startedAt
  }

  async #twice(layout: LayoutName): Promise<string> {
    const row = { shard: 1, fence: 0, runId: uuidv7(), wakeAt: Date.now() + DAY_MS }
    await this.#db.run(insertRows(layout, [row]))
    try {
      // The same run at another instant, as a retry or a lost response could leave it.
      await this.#db.run(insertRows(layout, [{ ...row, wakeAt: row.wakeAt + 1 }]))
      return 'taken'
    } catch (error) {
      if (sqlState(error) !== '23505') throw error
      return `refused (${violatedConstraint(error)})`
    }
  }
}

const FAR_ROWS = 100_000

interface Plan {
  readonly way: string
  readonly lookMs: number
  readonly fireMs: number
  readonly endMs: number
  readonly locks: number
  readonly pagesAhead: number
  readonly pagesAll: number
  readonly pagesAgain: number
}

interface ExplainRow {
  readonly 'QUERY PLAN': readonly [
    {
      readonly 'Planning Time': number
      readonly Plan: { readonly 'Shared Hit Blocks'?: number; readonly 'Shared Read Blocks'?: number }
    },
  ]
}

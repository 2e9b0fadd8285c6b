/** A real node with a small heap, work whose definitions are hundreds of kilobytes long, and a probe that never stops asking. */
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { whenDone } from '../support/cleanup.ts'
import { type Belfry, startBelfry } from '../support/process.ts'

/** 224 000 characters of three bytes each: 672 kB, within what a body may have. */
export const BODY = '語'.repeat(224_000)

/** Takes whatever is sent to it. */
export async function startReceiver(): Promise<string> {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenDone(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** A node that ends when its heap holds more than so many megabytes. */
export const startConfined = (url: string, heapMb: number): Promise<Belfry> =>
  startBelfry(['--database-url', url], {
    nodeArgs: [`--max-old-space-size=${heapMb}`],
  })

/** Sends a long body, and answers with the status of what came back to its end; nobody here reads tens of megabytes. */
export function post(url: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', reject)
    })
    call.on('error', reject).end(body)
  })
}

/** More one-offs like one that is there, due at an instant, made by the database itself. */
export async function copyOneOff(
  db: Database,
  taskId: string,
  { count, dueAt }: { count: number; dueAt: number },
) {
  await db.run(sql`
    with made as (
      insert into task (id, project_id, action_type, tags, definition, brief, created_at, updated_at)
      select gen_random_uuid(), project_id, action_type, tags, definition, brief, now(), now()
      from task cross join generate_series(1, ${count}::integer) where id = ${taskId}
      returning id, project_id
    )
    insert into agenda (run_id, task_id, project_id, shard, lane, priority, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), id, project_id, (row_number() over () % 64)::smallint, 0, 0, to_timestamp(${dueAt}::float8 / 1000),
           to_timestamp(${dueAt}::float8 / 1000), 1, 1
    from made`)
}

/** Brings every occurrence forward to one instant, which the next look-ahead comes upon. */
export async function makeAllDue(db: Database) {
  await db.run(sql`
    with instant as materialized (select now() + interval '3 seconds' as at)
    update agenda set wake_at = instant.at, scheduled_for = instant.at from instant`)
}

export async function countCompleted(db: Database): Promise<number> {
  const [row] = await db.run(
    sql<{ count: number }>`select count(*)::integer as count from run where state = 'completed'`,
  )
  return row?.count ?? 0
}

/** The longest that a node took to say that it is well. */
export interface Wellness {
  readonly answeredMs: number
  /**
   * Without the time in which its threads waited for a processor, which others on the machine may use. Threads wait side by side,
   * so this is too little on a busy machine; on one that is idle it is all of the time.
   */
  readonly ownMs: number
  /** For how long its main thread was busy meanwhile. */
  readonly busyMs: number
}

/** How a node did while something was asked of it. */
export interface Phase {
  readonly name: string
  readonly well: Wellness
  readonly memoryMb: number
}

/** Asks whether a node is well, again and again, and remembers the longest that it took to say so. */
export class Probe {
  readonly #thread: Worker

  constructor({ url, pid }: Belfry) {
    this.#thread = new Worker(new URL('./probe-thread.mjs', import.meta.url), {
      workerData: { url, pid },
    })
    whenDone(() => this.end())
  }

  /** The longest since this was last asked. */
  take(): Promise<Wellness> {
    return new Promise((resolve) => {
      this.#thread.once('message', resolve)
      this.#thread.postMessage('take')
    })
  }

  async end(): Promise<void> {
    await this.#thread.terminate()
  }
}

/** The most memory that a process ever had, in megabytes. */
export function peakMemoryMb(pid: number): number {
  const [, kb] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kb) / 1024)
}

/** All items of a list, page by page, and the longest page in bytes. */
export async function walk(url: string, path: string): Promise<{ ids: string[]; longestPage: number }> {
  const ids: string[] = []
  let longestPage = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const text: string = await (
      await fetch(`${url}${path}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    ).text()
    const page: { items: { id: string }[]; nextCursor: string | null } = JSON.parse(text)
    longestPage = Math.max(longestPage, Buffer.byteLength(text))
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.nextCursor
  }
  return { ids, longestPage }
}

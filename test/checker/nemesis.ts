/** Breaks things on purpose and writes down what it broke, from when to when. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import type { Fault } from './evidence.ts'

const POLL = { everyMs: 5 }

export class Nemesis {
  readonly faults: Fault[] = []
  /** Kept open: what it does must come right after a beat. */
  readonly #db: pg.Client

  constructor(url: string) {
    this.#db = new pg.Client({ connectionString: url })
    this.#db.on('error', () => {})
  }

  async start(): Promise<void> {
    await this.#db.connect()
  }

  async stop(): Promise<void> {
    await this.#db.end()
  }

  /** Writes down a fault that the test itself brings about, and when it is over. */
  note(kind: Fault['kind'], processes: readonly number[], recoveryMs: number): () => void {
    const from = Date.now()
    const fault = { kind, from, until: Number.POSITIVE_INFINITY, recoveryMs, processes }
    this.faults.push(fault)
    return () => {
      fault.until = Date.now()
    }
  }

  /**
   * Takes shards from a node as another would that thinks it gone, just after it has beaten for them: for
   * nearly a second it fires on in the belief that they are its own. Resolves when somebody has them again.
   */
  async takeShards(nodeId: string, process: number, shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return
    await this.#afterBeat(nodeId)
    const over = this.note('take_shards', [process], RETAKE_MS)
    const nobody = randomUUID()
    await this.#db.query(
      `with mine as (select id from shard where id = any($2::smallint[]) and owner = $3 for update)
       update shard s set owner = $1, fence = fence + 1 from mine where s.id = mine.id`,
      [nobody, shards, nodeId],
    )
    await eventually(
      async () => (await this.#db.query('select from shard where owner = $1', [nobody])).rowCount === 0,
      POLL,
    )
    over()
  }

  /**
   * Declares a node dead that lives. Until its next beat it goes on as if nothing had happened, and everything
   * it still writes comes from somebody who no longer holds anything.
   */
  async declareDead(nodeId: string, process: number, exited: Promise<unknown>): Promise<void> {
    const over = this.note('declare_dead', [process], RETAKE_MS)
    await this.#db.query(
      `with living as (select id from node where id = $1 for update)
       update node n set dead_at = clock_timestamp(), reason = 'lost' from living where n.id = living.id`,
      [nodeId],
    )
    void exited.then(over)
  }

  async #afterBeat(nodeId: string): Promise<void> {
    const beat = async () =>
      (await this.#db.query('select beat from watch where node_id = $1', [nodeId])).rows[0]?.beat
    const before = await beat()
    await eventually(async () => (await beat()) !== before, POLL)
  }
}

/** Whoever finds a shard free takes it with its next beat, and reads what is due in it. */
const RETAKE_MS = 3_000

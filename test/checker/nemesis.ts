/** Injects faults, and records each fault with its beginning and end. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import type { Fault } from './evidence.ts'

const POLL = { everyMs: 5 }

export class Nemesis {
  readonly faults: Fault[] = []
  /** Kept open, because a fault must follow right after a heartbeat. */
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

  /** Records a fault that the test itself causes; the returned function records its end. */
  note(kind: Fault['kind'], processes: readonly number[], recoveryMs: number): () => void {
    const from = Date.now()
    const fault = { kind, from, until: Number.POSITIVE_INFINITY, recoveryMs, processes }
    this.faults.push(fault)
    return () => {
      fault.until = Date.now()
    }
  }

  /**
   * Takes shards from a node as another node would that believes it dead, just after its heartbeat: for nearly a second the
   * node keeps firing in the belief that the shards are its own. Resolves when a node owns the shards again.
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
   * Declares a live node dead. Until its next heartbeat it goes on as if nothing had happened, and everything it still writes
   * comes from a node that no longer holds anything.
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

/** A node that finds a shard free takes it with its next heartbeat, and reads what is due in it. */
const RETAKE_MS = 3_000

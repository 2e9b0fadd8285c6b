/**
 * Shows the other nodes that this node is alive. Heartbeats are sent by a separate thread (beat-thread.js); this part starts
 * the thread and acts on its reports: a node that was declared dead exits, and one that could not send a heartbeat for most of
 * its lease gives up its runs before another node may take them.
 */
import { Worker as Thread } from 'node:worker_threads'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database/database.ts'
import { beat, declareDead, insertNode, type NewNode } from '../store/nodes/nodes.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface HeartbeatOptions {
  readonly node: NewNode
  readonly db: Database
  /** The address to which the thread opens its own connection. */
  readonly databaseUrl: string
  readonly log: Logger
  readonly everyMs: number
  /** The other nodes may declare this node dead after a silence of this length. */
  readonly leaseMs: number
  /** Called when the node can no longer be sure of its leases, and when it can again. */
  onDoubt(isInDoubt: boolean): void
  /** Called once, when another node has declared this node dead and its runs may be reclaimed. */
  onDeclaredDead(): void
}

/** The part of the lease that is reserved for stopping runs: a node must be silent before others may act. */
const SAFETY = 0.2
const LONGEST_CHECK_MS = 500
const NS_PER_MS = 1_000_000n
const THREAD_RESTART_MS = 500
/** The id of a thread that has ended. */
const ENDED = -1

type Message = { kind: 'beat' } | { kind: 'declared_dead' } | { kind: 'failed'; message: string }

export class Heartbeat implements Service {
  readonly #options: HeartbeatOptions
  readonly #lastBeat = new SharedArrayBuffer(8)
  #thread: Thread | undefined
  #check: NodeJS.Timeout | undefined
  #isInDoubt = false
  #isStopping = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, node, leaseMs } = this.#options
    await db.run(insertNode(node))
    await this.#startThread()
    this.#check = setInterval(() => this.#checkLease(), Math.min(LONGEST_CHECK_MS, leaseMs / 20))
    this.#check.unref()
  }

  /** Stops the thread and declares this node dead itself: after an orderly stop, it holds no runs. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#check)
    const thread = this.#thread
    if (thread && thread.threadId !== ENDED) {
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      thread.postMessage('stop')
      await ended
    }
    await this.#options.db.run(declareDead({ nodeId: this.#options.node.id, beat: null, reason: 'stopped' }))
  }

  /** Resolves with the first heartbeat. */
  #startThread(): Promise<void> {
    const { databaseUrl: url, everyMs, leaseMs, node, log } = this.#options
    const { text, values } = beat(node.id)
    const thread = new Thread(new URL('./beat-thread.js', import.meta.url), {
      workerData: {
        url,
        everyMs,
        leaseMs,
        lastBeat: this.#lastBeat,
        statement: { text, values: [...values] },
      },
    })
    thread.unref()
    this.#thread = thread
    return new Promise((resolve) => {
      thread.on('message', (message: Message) => {
        if (message.kind === 'beat') resolve()
        else this.#hear(message)
      })
      thread.on('error', (error) => log.error({ err: error }, 'the heartbeat thread failed'))
      thread.once('exit', () => {
        if (!this.#isStopping) setTimeout(() => void this.#startThread(), THREAD_RESTART_MS).unref()
      })
    })
  }

  #hear(message: Exclude<Message, { kind: 'beat' }>): void {
    const { log, onDeclaredDead } = this.#options
    if (message.kind === 'failed') {
      log.warn({ reason: message.message }, 'cannot send heartbeat; retrying')
      return
    }
    log.fatal('this node was declared dead and its runs were reclaimed')
    this.#isStopping = true
    onDeclaredDead()
  }

  #checkLease(): void {
    const { leaseMs, log, onDoubt } = this.#options
    const last = Atomics.load(new BigInt64Array(this.#lastBeat), 0)
    const silentMs = Number((process.hrtime.bigint() - last) / NS_PER_MS)
    const isInDoubt = silentMs > leaseMs * (1 - SAFETY)
    if (isInDoubt === this.#isInDoubt) return
    this.#isInDoubt = isInDoubt
    if (isInDoubt)
      log.error(
        { silentMs },
        'no heartbeat reached the database for most of the lease; stopping the runs on this node',
      )
    else log.info('heartbeats reach the database again')
    onDoubt(isInDoubt)
  }
}

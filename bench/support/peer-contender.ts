/** The peers: their workers are processes of their own, and another process puts in the jobs. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Child, startChild } from './child.ts'
import {
  CONCURRENCY,
  type Contender,
  type ContenderName,
  DRAIN_TIMEOUT_MS,
  type IntakeName,
  type Prepared,
  type Workload,
} from './contender.ts'
import type { Subject } from './measure.ts'
import { checkpoint, type Server, vacuum } from './postgres.ts'
import { startRedis } from './redis.ts'

export type PeerName = Exclude<IntakeName, 'belfry'>
type PeerContenderName = Exclude<ContenderName, 'belfry' | 'calls'>

/** Returns the program of a contender, and whether it batches its writes where its documentation offers that. */
const programOf = (name: PeerContenderName): { peer: PeerName; isBatching: boolean } =>
  name === 'graphile-default' ? { peer: 'graphile', isBatching: false } : { peer: name, isBatching: true }

/** Where a peer keeps its jobs. */
export interface PeerStore {
  readonly url: string
  subject(pids: readonly number[]): Promise<Subject>
  /** Before and after the jobs are put in. */
  checkpoint(): Promise<void>
  vacuum(): Promise<void>
  drop(): Promise<void>
}

export function peerContender(name: PeerContenderName, server: Server): Contender {
  const { peer, isBatching } = programOf(name)
  return {
    name,
    prepare: async (workload) => {
      const store = await createPeerStore(peer, server)
      const producer = startChild(`peers/${peer}-producer.mjs`)
      await producer.call('setup', { url: store.url, connections: 1 })
      await store.checkpoint()
      await producer.call('fill', { count: workload.runs })
      const workers = Array.from({ length: workload.nodes }, () => startChild(`peers/${peer}-worker.mjs`))
      const { sinkUrl } = workload
      await Promise.all(
        workers.map((worker) =>
          worker.call('prepare', { url: store.url, concurrency: CONCURRENCY, sinkUrl, isBatching }),
        ),
      )
      await store.vacuum()
      return prepared({ workload, store, producer, workers })
    },
  }
}

interface Parts {
  readonly workload: Workload
  readonly store: PeerStore
  readonly producer: Child
  readonly workers: readonly Child[]
}

const POLL_MS = 20

async function prepared({ workload: { runs }, store, producer, workers }: Parts): Promise<Prepared> {
  const done = workers.map(() => 0)
  const total = () => done.reduce((sum, count) => sum + count, 0)
  workers.forEach((worker, i) => {
    worker.onProgress((count) => {
      done[i] = count
    })
  })
  const untilTrue = async (isTrue: () => boolean | Promise<boolean>) => {
    const deadline = performance.now() + DRAIN_TIMEOUT_MS
    while (!(await isTrue())) {
      if (performance.now() > deadline)
        throw new Error(`After ${DRAIN_TIMEOUT_MS / 1000} s, ${total()} of ${runs} are done.`)
      await delay(POLL_MS)
    }
  }
  return {
    subject: await store.subject(workers.map(({ pid }) => pid)),
    begin: async () => {
      await Promise.all(workers.map((worker) => worker.call('work')))
    },
    // The workers count the jobs that they performed; only when all are done are the jobs left in the store counted.
    untilDone: async () => {
      await untilTrue(() => total() >= runs)
      await untilTrue(async () => (await producer.call<number>('left')) === 0)
    },
    verify: async () => {
      const completed = await producer.call<number | null>('completed')
      if (total() !== runs || (completed !== null && completed !== runs))
        throw new Error(`Of ${runs} jobs ${total()} were performed and ${completed} are recorded.`)
    },
    close: async () => {
      await Promise.all([...workers, producer].map((child) => child.stop()))
      await store.drop()
    },
  }
}

export async function createPeerStore(name: PeerName, server: Server): Promise<PeerStore> {
  if (name === 'bullmq') {
    const redis = await startRedis()
    return {
      url: redis.socket,
      subject: async (pids) => ({
        serverPid: redis.pid,
        pids,
        ownBackends: [],
        wal: async () => null,
        statements: null,
      }),
      checkpoint: async () => {},
      vacuum: async () => {},
      drop: redis.stop,
    }
  }
  const database = await server.create(`bench_${name.replace('-', '_')}`)
  return {
    url: database.url,
    subject: database.subject,
    checkpoint: () => checkpoint(database.db),
    vacuum: () => vacuum(database.db),
    drop: database.drop,
  }
}

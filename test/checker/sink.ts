/** Starts the sink in a separate process and keeps its log. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { whenDone } from '../support/cleanup.ts'
import type { Delivery } from './evidence.ts'

const PROGRAM = fileURLToPath(new URL('./sink-process.mjs', import.meta.url))

export interface Sink {
  readonly deliveries: readonly Delivery[]
  /** Returns an address with this behavior; see sink-process.mjs. Each path is for one task. */
  url(path: string, behaviour?: Readonly<Record<string, number>>): string
  /** Answers held deliveries: the delivery with this number of each message, on all paths with the prefix. */
  release(prefix: string, count: number): void
  stop(): Promise<void>
}

type Entry =
  | { port: number }
  | { received: { id: number } & Omit<Delivery, 'answeredAt' | 'goneAt' | 'status'> }
  | { answered: { id: number; at: number; status: number } }
  | { gone: { id: number; at: number } }

/** Starts the sink, which ends with the test. */
export async function startSink(): Promise<Sink> {
  const sink = await startSinkProcess()
  whenDone(sink.stop)
  return sink
}

export async function startSinkProcess(): Promise<Sink> {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const deliveries: Delivery[] = []
  const known = new Map<number, Delivery>()
  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the sink ended with ${code}`)))
    child.on('message', (entry: Entry) => {
      if ('port' in entry) resolve(entry.port)
      else if ('received' in entry) {
        const { id, ...received } = entry.received
        const delivery = { ...received, answeredAt: null, goneAt: null, status: null }
        known.set(id, delivery)
        deliveries.push(delivery)
      } else if ('answered' in entry)
        Object.assign(known.get(entry.answered.id) ?? {}, {
          answeredAt: entry.answered.at,
          status: entry.answered.status,
        })
      else Object.assign(known.get(entry.gone.id) ?? {}, { goneAt: entry.gone.at })
    })
  })
  return {
    deliveries,
    url: (path, behaviour = {}) => {
      const query = Object.entries(behaviour).map(([name, value]) => `${name}=${value}`)
      return `http://127.0.0.1:${port}/${path}${query.length > 0 ? `?${query.join('&')}` : ''}`
    },
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
    release: (prefix, count) => child.send({ release: { prefix: `/${prefix}`, count } }),
  }
}

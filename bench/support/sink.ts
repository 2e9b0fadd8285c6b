/** The receiver of calls: a process that answers at once and reports what it received. */
import { type Child, startChild } from './child.ts'
import { ownCpuUs } from './cpu.ts'

export interface Received {
  readonly received: number
  /** How many different webhook-ids there were, while recording. */
  readonly distinct: number
  /** Lateness of each request, and the instant that it was due; only while recording. */
  readonly lateMs: readonly number[]
  readonly dueAt: readonly number[]
}

export interface Sink {
  readonly url: string
  cpuUs(): number
  reset(options: { record: boolean }): Promise<void>
  read(): Promise<Received>
  stop(): Promise<void>
}

export async function startSink(): Promise<Sink> {
  const child: Child = startChild('support/sink-process.mjs')
  const url = await child.call<string>('listen')
  return {
    url,
    cpuUs: () => ownCpuUs(child.pid),
    reset: (options) => child.call('reset', options),
    read: () => child.call('read'),
    stop: child.stop,
  }
}

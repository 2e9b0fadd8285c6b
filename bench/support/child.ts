/** A helper process that answers calls; the other end is peers/channel.mjs. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { end } from './belfry.ts'
import { onCleanup } from './cleanup.ts'
import { ROOT } from './root.ts'

export interface Child {
  readonly pid: number
  call<T>(method: string, args?: unknown): Promise<T>
  /** Calls the listener with the amount of work that the process has done so far. */
  onProgress(listener: (done: number) => void): void
  stop(): Promise<void>
}

interface Message {
  readonly id?: number
  readonly result?: unknown
  readonly error?: string
  readonly done?: number
}

/** Starts a file of bench/ as a process. */
export function startChild(file: string): Child {
  const child = fork(join(ROOT, 'bench', file), {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let listener: (done: number) => void = () => {}
  let lastId = 0
  child.on('message', ({ id, result, error, done }: Message) => {
    if (done !== undefined) listener(done)
    const call = calls.get(id ?? 0)
    if (!call) return
    calls.delete(id ?? 0)
    if (error === undefined) call.resolve(result)
    else call.reject(new Error(`${file}: ${error}`))
  })
  child.once('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`${file} ended with ${code ?? signal}.`))
    calls.clear()
  })
  return {
    pid: child.pid ?? 0,
    call: <T>(method: string, args: unknown = {}) =>
      new Promise<T>((resolve, reject) => {
        const id = ++lastId
        calls.set(id, { resolve: (value) => resolve(value as T), reject })
        child.send({ id, method, args })
      }),
    onProgress: (hear) => {
      listener = hear
    },
    stop: onCleanup(() => end(child)),
  }
}

/** Targets of calls, healthy and broken, in a process that behaves as it is asked to; it ends with the test. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { whenDone } from './cleanup.ts'

/** See target-servers-process.mjs. */
export type TargetKind =
  | 'healthy'
  | 'slow'
  | 'silent'
  | 'unavailable'
  | 'fails'
  | 'closes'
  | 'resets'
  | 'refuses'
  | 'garbage'

/** A request as its target received it. */
export interface SeenCall {
  /** Counted over all targets, in the order in which they came. */
  readonly number: number
  readonly at: number
  readonly path: string
  readonly runId: string
  readonly taskId: string
  readonly attempt: number
  readonly dueAt: number
}

export interface SeenTarget {
  readonly calls: readonly SeenCall[]
  readonly received: number
  /** Accepted connections, including those that never sent a request. */
  readonly connections: number
  readonly underWay: number
  readonly mostUnderWay: number
}

export interface Target {
  readonly url: string
  read(): Promise<SeenTarget>
  behave(kind: TargetKind, ms?: number): Promise<void>
  /** Answers the calls that it holds, or a number of them, the oldest first. */
  release(count?: number): Promise<void>
}

export interface Targets {
  open(kind: TargetKind, ms?: number): Promise<Target>
  openMany(kind: TargetKind, count: number, ms?: number): Promise<Target[]>
  /** Over all targets. */
  underWay(): Promise<{ readonly underWay: number; readonly mostUnderWay: number }>
}

const PROGRAM = fileURLToPath(new URL('./target-servers-process.mjs', import.meta.url))

export function startTargets(): Targets {
  const call = startProcess()
  const openMany = async (kind: TargetKind, count: number, ms = 0) =>
    ((await call('open', { kind, count, ms })) as string[]).map(
      (url): Target => ({
        url,
        read: () => call('read', { url }) as Promise<SeenTarget>,
        behave: async (next, nextMs = 0) => void (await call('behave', { url, kind: next, ms: nextMs })),
        release: async (some) =>
          void (await call('release', some === undefined ? { url } : { url, count: some })),
      }),
    )
  return {
    openMany,
    open: async (kind, ms = 0) => (await openMany(kind, 1, ms))[0] as Target,
    underWay: () => call('underWay', {}) as Promise<{ underWay: number; mostUnderWay: number }>,
  }
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

function startProcess(): (method: string, args: object) => Promise<unknown> {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  whenDone(() => child.kill('SIGKILL'))
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  child.on('message', (answer: Answer) => {
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  return (method, args) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error)),
      )
      child.send({ id, method, args })
    })
}

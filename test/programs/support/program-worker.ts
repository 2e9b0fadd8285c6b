/**
 * A worker that only runs programs: a process of its own, so that it can have another user, be killed, and hold what programs must
 * not get at. It is built into one file and talks over its channel.
 */
import { detectSandbox, openUnsandboxed } from '../../../src/sandbox/detect.ts'
import type { Program, ProgramEnd } from '../../../src/sandbox/sandbox.ts'

export interface WorkerOptions {
  readonly directory: string
  readonly kind: 'bubblewrap' | 'none'
}

export type Question =
  | { readonly type: 'open'; readonly options: WorkerOptions }
  | { readonly type: 'run'; readonly id: number; readonly program: WireProgram; readonly isSlow: boolean }
  | { readonly type: 'stop'; readonly id: number }
  | { readonly type: 'go on'; readonly id: number }
  | { readonly type: 'close' }

export type Answer =
  | { readonly type: 'opened'; readonly reason: string | null; readonly enforcement: unknown }
  | {
      readonly type: 'output'
      readonly id: number
      readonly stream: 'stdout' | 'stderr'
      readonly bytes: string
    }
  | { readonly type: 'ended'; readonly id: number; readonly end: ProgramEnd }
  | { readonly type: 'closed' }

/** With the input as text in base64. */
export type WireProgram = Omit<Program, 'stdin'> & { readonly stdin: string | null }

const stops = new Map<number, AbortController>()
/** Programs whose standard output is heard only when the test says so. */
const slow = new Map<number, Promise<void>>()
const goOns = new Map<number, () => void>()
let sandbox: Awaited<ReturnType<typeof detectSandbox>>['sandbox'] = null

const say = (answer: Answer) => process.send?.(answer)

async function hear(question: Question): Promise<void> {
  switch (question.type) {
    case 'open': {
      const { directory, kind } = question.options
      const found =
        kind === 'none'
          ? { sandbox: await openUnsandboxed(directory), reason: null }
          : await detectSandbox({ directory, allowNone: false })
      sandbox = found.sandbox
      say({ type: 'opened', reason: found.reason, enforcement: sandbox?.enforcement })
      return
    }
    case 'run':
      return run(question)
    case 'stop':
      stops.get(question.id)?.abort()
      return
    case 'go on':
      goOns.get(question.id)?.()
      return
    case 'close':
      await sandbox?.close()
      say({ type: 'closed' })
      process.disconnect()
  }
}

async function run({ id, program, isSlow }: Extract<Question, { type: 'run' }>): Promise<void> {
  const stop = new AbortController()
  stops.set(id, stop)
  if (isSlow) slow.set(id, new Promise((resolve) => goOns.set(id, resolve)))
  const stdin = program.stdin === null ? null : Buffer.from(program.stdin, 'base64')
  const end = await sandbox?.run(
    { ...program, stdin },
    {
      signal: stop.signal,
      onOutput: async (stream, chunk) => {
        if (stream === 'stdout') await slow.get(id)
        say({ type: 'output', id, stream, bytes: chunk.toString('base64') })
      },
    },
  )
  if (end !== undefined) say({ type: 'ended', id, end })
}

process.on('message', (question: Question) => void hear(question))

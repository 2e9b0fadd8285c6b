/**
 * Runs each attempt of a program in a process of its own, a runner: it downloads, starts the sandbox and sends the log. It is given what
 * its attempt needs and nothing else of this worker, neither its token nor its environment. This side tells it for how long the attempt is
 * ours for sure, tells it to stop, and makes an end of it when it does not. When this process dies, runners hear the end of their
 * input and stop their programs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { ExecAction } from '../core/action/action.ts'
import { ActionEnd } from '../sdk/attempt.ts'
import { type HandlerContext, Stopped, type StopReason } from '../sdk/worker.ts'
import type { GivenProgram } from '../transport/remote-workers.ts'
import type { GivenActionRun } from './given.ts'
import { monotonicMs } from './lease-watch.ts'
import { type Ended, type Job, URGENT_MS, VARIABLES, type Word, wordsIn } from './runner-words.ts'

/** What all runners of a worker have in common. */
export interface RunnersOptions extends Pick<Job, 'servers' | 'ca' | 'settings' | 'allowNone' | 'directory'> {
  /** The program of runners. */
  readonly entry: string
  /** What Belfry keeps of the log of an attempt. */
  maxLogBytes(): number
  /** For how long the runs of this worker are its own for sure. */
  certainForMs(): number
}

/** How long after its program a runner is killed, with everything that it has started. */
const KILL_MARGIN_MS = 2_000
/** It takes this long at most until a killed runner is gone. */
const GONE_MS = 1_500
/** How often runners hear that the attempt is still ours. */
const WORD_MS = 1_000
const MAX_COMPLAINT_CHARACTERS = 2_000

export class Runners {
  readonly #options: RunnersOptions

  constructor(options: RunnersOptions) {
    this.#options = options
  }

  /** An attempt that was told to stop has ended after so long. */
  get longestStopMs(): number {
    return this.#options.settings.graceMs + KILL_MARGIN_MS + GONE_MS
  }

  async perform(run: GivenActionRun, { signal }: Pick<HandlerContext, 'signal'>): Promise<ActionEnd> {
    const { action, program } = run
    if (action.type !== 'exec' || program === null) throw new Error(`run ${run.runId} is not of a program`)
    const runner = this.#start(run, program)
    const say = (word: Word | Job) => runner.stdin?.write(`${JSON.stringify(word)}\n`)
    let killing: NodeJS.Timeout | undefined
    const stop = () => {
      const why: StopReason = signal.reason instanceof Stopped ? signal.reason.why : 'shutdown'
      say({ stop: why })
      const graceMs = why === 'lease_lost' ? URGENT_MS : this.#options.settings.graceMs + KILL_MARGIN_MS
      killing ??= setTimeout(() => runner.kill('SIGKILL'), graceMs)
    }
    const certainty = () => say({ certainUntil: monotonicMs() + this.#options.certainForMs() })
    say(this.#jobOf(run, action, program))
    certainty()
    const words = setInterval(certainty, WORD_MS)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    try {
      return await endOf(runner)
    } finally {
      clearInterval(words)
      clearTimeout(killing)
      signal.removeEventListener('abort', stop)
    }
  }

  #start({ tracingId }: GivenActionRun, { hostId, attemptToken, files: [file] }: GivenProgram): ChildProcess {
    const { entry, servers } = this.#options
    const runner = spawn(process.execPath, [entry], {
      env: {
        [VARIABLES.hostId]: hostId,
        [VARIABLES.attemptToken]: attemptToken,
        ...(tracingId === null ? {} : { [VARIABLES.tracingId]: tracingId }),
        ...(file === undefined ? {} : { [VARIABLES.fileUrl]: new URL(file.url, servers[0]).href }),
      },
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
      // What interrupts this process at a terminal is for this process to deal with.
      detached: true,
    })
    // It may have ended before it was told everything.
    runner.stdin?.on('error', () => {})
    return runner
  }

  #jobOf(run: GivenActionRun, action: ExecAction, { files }: GivenProgram): Job {
    const { runId, taskId, scheduledFor, attempt, fence, traceparent, tracingId } = run
    const { servers, ca, settings, allowNone, directory, maxLogBytes } = this.#options
    return {
      ...{ servers, ca, settings, allowNone, directory, action, files },
      run: { runId, taskId, scheduledFor, attempt, fence, traceparent, tracingId },
      maxLogBytes: maxLogBytes(),
    }
  }
}

/** What a runner said last, or what its silence means. Resolves when it is gone. */
async function endOf(runner: ChildProcess): Promise<ActionEnd> {
  const { stdout, stderr } = runner
  let complaint = ''
  stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(-MAX_COMPLAINT_CHARACTERS)
  })
  const gone = new Promise<string>((resolve) => {
    runner.once('error', (error) => resolve(error.message))
    runner.once('close', (code, signal) =>
      resolve(signal === null ? `exit code ${code}` : `it was terminated by ${signal}`),
    )
  })
  const ended = stdout === null ? null : await lastWord(stdout)
  const how = await gone
  if (ended !== null) return new ActionEnd(ended.end)
  const said = complaint.trim() === '' ? '' : `: ${complaint.trim()}`
  const message = `The runner of the program failed: ${how}${said}`
  return new ActionEnd({ outcome: 'failed', error: { code: 'runner_failed', message }, retryable: true })
}

async function lastWord(stream: AsyncIterable<Buffer>): Promise<Ended | null> {
  let last: Ended | null = null
  try {
    for await (const word of wordsIn<Ended>(stream)) last = word
  } catch {
    // What is no word is as good as none: how it ended says the rest.
  }
  return last
}

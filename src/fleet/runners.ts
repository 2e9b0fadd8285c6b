/**
 * Runs each attempt of a program in a separate process, the runner, which downloads the program, starts the sandbox and sends
 * the log. A runner gets only what its attempt needs: neither the token nor the environment of this worker. The worker tells it
 * until when the attempt certainly belongs to the worker, asks it to stop, and kills it if it does not. If the worker dies, its
 * runners see the end of their input and stop their programs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { ExecAction } from '../core/action/action.ts'
import { ActionEnd } from '../sdk/attempt.ts'
import { type HandlerContext, Stopped, type StopReason } from '../sdk/worker.ts'
import type { GivenProgram } from '../transport/remote-workers.ts'
import type { GivenActionRun } from './given.ts'
import { monotonicMs } from './lease-watch.ts'
import { type Ended, type Job, URGENT_MS, VARIABLES, type Word, wordsIn } from './runner-words.ts'

/** Settings that all runners of a worker share. */
export interface RunnersOptions extends Pick<Job, 'servers' | 'ca' | 'settings' | 'allowNone' | 'directory'> {
  /** Path of the runner's program. */
  readonly entry: string
  /** Maximum size of the log of an attempt. */
  maxLogBytes(): number
  /** How long the runs of this worker certainly still belong to it. */
  certainForMs(): number
}

/** Time between the latest end of the program and the kill of its runner with all its processes. */
const KILL_MARGIN_MS = 2_000
/** Maximum time until a killed runner has ended. */
const GONE_MS = 1_500
/** Interval for renewing a runner's lease. */
const WORD_MS = 1_000
const MAX_COMPLAINT_CHARACTERS = 2_000

export class Runners {
  readonly #options: RunnersOptions

  constructor(options: RunnersOptions) {
    this.#options = options
  }

  /** Maximum time until an attempt that was asked to stop has ended. */
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
      // A separate process group: Ctrl-C at a terminal must reach only this process.
      detached: true,
    })
    // The runner may end before it has read everything.
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

/** Returns the runner's last message, or an error if there was none. Resolves when the runner has ended. */
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
    // Invalid output counts as none; the exit status is reported instead.
  }
  return last
}

/**
 * A runner: the process that runs one attempt of a program. Its permissions come from its environment, which contains only the
 * token of the attempt and the address of the program. The program inherits neither: its environment is created from scratch.
 */
import { FileCache } from '../programs/file-cache.ts'
import { type ProgramFile, ProgramRunner } from '../programs/program-runner.ts'
import { detectSandbox } from '../sandbox/detect.ts'
import { Connection } from '../sdk/connection.ts'
import type { StopReason } from '../sdk/worker.ts'
import { endOf } from './action-end.ts'
import { download } from './download.ts'
import { LeaseWatch } from './lease-watch.ts'
import { RunnerLog } from './runner-log.ts'
import { type Ended, type Job, URGENT_MS, VARIABLES, type Word, wordsIn } from './runner-words.ts'

/** Kinds of files that a program can execute in its work directory. */
const EXECUTABLE_KINDS: ReadonlySet<string | null> = new Set(['elf', 'script'])

const words = wordsIn<Job | Word>(process.stdin)
const first = await words.next()
if (first.done) process.exit(1)
await perform(first.value as Job)

async function perform(job: Job): Promise<void> {
  const stopping = new AbortController()
  let isLost = false
  const stop = (why: StopReason) => {
    if (why === 'lease_lost' && !isLost) {
      isLost = true
      // The end of this process ends everything that it has started.
      setTimeout(() => tell({ outcome: 'lost' }, 1), URGENT_MS)
    }
    stopping.abort()
  }
  const watch = new LeaseWatch(() => stop('lease_lost'))
  void listen(watch, stop)
  const { run, settings, maxLogBytes: maxBytes } = job
  const connection = new Connection(job.servers, job.ca ?? undefined)
  const token = process.env[VARIABLES.attemptToken] ?? ''
  const log = new RunnerLog({ connection, token, run, maxBytes, onGone: () => stop('lease_lost') })
  const { directory, allowNone } = job
  const { sandbox, reason } = await detectSandbox({ directory, allowNone, isTried: true })
  if (sandbox === null) throw new Error(reason ?? 'there is no sandbox')
  const runner = new ProgramRunner({ ...settings, sandbox, cache: new FileCache(settings.cache) })
  const outcome = await runner.run(job.action, filesOf(job, stopping.signal), {
    ...run,
    scheduledFor: Date.parse(run.scheduledFor),
    log,
    redactor: null,
    signal: stopping.signal,
    isLost: () => isLost,
    timeoutMs: null,
  })
  await log.end()
  await sandbox.close()
  watch.end()
  tell(endOf(outcome).report, 0)
}

/** Sends the result and exits. */
function tell(end: Ended['end'], exitCode: number): void {
  const ended: Ended = { end }
  process.stdout.write(`${JSON.stringify(ended)}\n`, () => process.exit(exitCode))
}

/** Processes messages of the worker. The end of the stream means that the worker has ended, which ends the attempt. */
async function listen(watch: LeaseWatch, stop: (why: StopReason) => void): Promise<void> {
  try {
    for await (const word of words) {
      if ('certainUntil' in word) watch.renew(word.certainUntil)
      if ('stop' in word) stop(word.stop)
    }
  } finally {
    stop('lease_lost')
  }
}

/** Returns the files of the program by id. The address of the program itself comes from the environment. */
function filesOf({ servers, ca, files }: Job, signal: AbortSignal): ReadonlyMap<string, ProgramFile> {
  const addressed = files.map(({ url, ...file }, i): [string, ProgramFile] => {
    const own = i === 0 ? process.env[VARIABLES.fileUrl] : undefined
    const urls = [
      ...new Set([
        ...(own === undefined ? [] : [own]),
        ...servers.map((server) => new URL(url, server).href),
      ]),
    ]
    return [
      file.id,
      {
        ...file,
        isExecutable: EXECUTABLE_KINDS.has(file.kind),
        read: () => download({ urls, ca, signal }),
      },
    ]
  })
  return new Map(addressed)
}

/** Programs for tests: scripts as files, and whatever runs them on this machine. */
import { createHash } from 'node:crypto'
import { FileCache } from '../../src/programs/file-cache.ts'
import {
  type ProgramAttempt,
  type ProgramFile,
  ProgramRunner,
  type ProgramRunnerOptions,
} from '../../src/programs/program-runner.ts'
import { detectSandbox } from '../../src/sandbox/detect.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { whenDone } from '../support/cleanup.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const MIB = 1024 ** 2

export const LIMITS = {
  defaults: { memoryBytes: 256 * MIB, cpus: 1, processes: 64, fileBytes: 16 * MIB },
  maxima: { memoryBytes: 512 * MIB, cpus: 2, processes: 128, fileBytes: 64 * MIB },
  outputBytes: 8 * MIB,
}

/** Something that runs programs, with a cache of its own. */
export async function aRunner(
  more: Partial<Pick<ProgramRunnerOptions, 'commands' | 'readable' | 'writable' | 'allowsNetwork'>> = {},
): Promise<ProgramRunner> {
  await ensureBubblewrap()
  const { sandbox, reason } = await detectSandbox({ directory: null, allowNone: false })
  if (sandbox === null) throw new Error(reason ?? 'there is no sandbox')
  whenDone(() => sandbox.close())
  const cache = new FileCache({ folder: await scratchFolder(), maxBytes: 64 * MIB })
  return new ProgramRunner({
    ...{ sandbox, cache, limits: LIMITS, graceMs: 1_000 },
    ...{ commands: [], readable: [], writable: [], allowsNetwork: true, ...more },
  })
}

export function aProgram(text: string, name = 'program'): ProgramFile {
  const bytes = Buffer.from(text)
  return {
    name,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
    architecture: null,
    isExecutable: true,
    async *read() {
      yield bytes
    },
  }
}

/** A script of the shell, as a file. */
export const sh = (script: string) => aProgram(`#!/bin/sh\n${script}\n`, 'script.sh')

/** An attempt, and what its program wrote. */
export interface TestAttempt extends ProgramAttempt {
  readonly written: { stdout: string; stderr: string }
  /** What the worker itself said. */
  readonly said: string[]
}

export function anAttempt(change: Partial<ProgramAttempt> = {}): TestAttempt {
  const written = { stdout: '', stderr: '' }
  const said: string[] = []
  return {
    runId: '01900000-0000-7000-8000-000000000001',
    taskId: '01900000-0000-7000-8000-000000000002',
    attempt: 2,
    fence: 7,
    scheduledFor: Date.UTC(2026, 10, 16, 9),
    tracingId: 'order-17',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    log: {
      write: (stream, chunk) => {
        written[stream] += chunk.toString('utf8')
      },
      say: (_level, message) => void said.push(message),
      room: () => null,
    },
    redactor: null,
    signal: new AbortController().signal,
    isLost: () => false,
    timeoutMs: null,
    written,
    said,
    ...change,
  }
}

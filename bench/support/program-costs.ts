/** What it costs to run a program that does nothing, one after the other in this process: bare, and in the sandbox. */
import { spawn } from 'node:child_process'
import { detectSandbox } from '../../src/sandbox/detect.ts'
import type { Program, Sandbox } from '../../src/sandbox/sandbox.ts'
import { onCleanup } from './cleanup.ts'
import { treeCpuUs } from './cpu.ts'
import { type Percentiles, percentilesOf } from './percentiles.ts'

export const TRUE = '/bin/true'
const MIB = 1_024 ** 2

export type Way = 'bare' | 'sandbox'

export interface ProgramCost {
  readonly way: Way
  readonly cpuUs: number
  /** Milliseconds from the call to the answer. */
  readonly wall: Percentiles
}

/** Runs the program once; rejects unless it succeeded. */
type Runner = () => Promise<void>

const NOTHING: Program = {
  ...{
    executable: TRUE,
    name: null,
    args: [],
    env: {},
    stdin: null,
    files: [],
    readable: [],
    network: false,
  },
  limits: {
    ...{ memoryBytes: 512 * MIB, cpus: 1, processes: 256, openFiles: 1_024 },
    ...{ fileBytes: 256 * MIB, outputBytes: 256 * MIB },
  },
  ...{ timeoutMs: 60_000, graceMs: 0 },
}

/** Returns the ways to run the program that this machine supports. */
export async function openWays(): Promise<ReadonlyMap<Way, Runner>> {
  const { sandbox, reason } = await detectSandbox({ directory: null, allowNone: false })
  if (sandbox === null) throw new Error(`Programs cannot run here: ${reason}`)
  return new Map<Way, Runner>([
    ['bare', bare],
    ['sandbox', runnerOf(sandbox)],
  ])
}

/** Runs the program a number of times and returns the cost of each, including all its processes. */
export async function takeCosts(way: Way, run: Runner, programs: number): Promise<ProgramCost> {
  const walls: number[] = []
  const before = treeCpuUs(process.pid)
  for (let i = 0; i < programs; i++) {
    const at = performance.now()
    await run()
    walls.push(performance.now() - at)
  }
  return { way, cpuUs: (treeCpuUs(process.pid) - before) / programs, wall: percentilesOf(walls) }
}

/** With pipes, as anything that reads its output starts it. */
function bare(): Promise<void> {
  const child = spawn(TRUE, { stdio: ['ignore', 'pipe', 'pipe'], env: {} })
  child.stdout.resume()
  child.stderr.resume()
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${TRUE} ended with ${code}`))))
  })
}

function runnerOf(sandbox: Sandbox): Runner {
  onCleanup(() => sandbox.close())
  const { signal } = new AbortController()
  return async () => {
    const { exitCode, message } = await sandbox.run(NOTHING, { onOutput: () => {}, signal })
    if (exitCode !== 0) throw new Error(`${TRUE} ended with ${exitCode}: ${message}`)
  }
}

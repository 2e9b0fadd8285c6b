/** The product under measurement: nodes as real processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onCleanup } from './cleanup.ts'
import { awaitInspector, profilingArgs } from './profile.ts'
import { ROOT } from './root.ts'

/** A node that runs. */
export interface BelfryNode {
  readonly pid: number
  readonly url: string
  stop(): Promise<void>
}

const STOP_TIMEOUT_MS = 60_000

/** Starts nodes with default settings except for those given; resolves when the nodes are ready for work. */
export function startNodes(
  count: number,
  databaseUrl: string,
  settings: readonly string[] = [],
): Promise<BelfryNode[]> {
  return Promise.all(Array.from({ length: count }, () => startNode(databaseUrl, settings)))
}

async function startNode(databaseUrl: string, settings: readonly string[]): Promise<BelfryNode> {
  const program = [join(ROOT, 'dist', 'main.js'), 'start', '--database-url', databaseUrl, '--port', '0']
  const profiling = profilingArgs()
  const child = spawn(process.execPath, [...profiling, ...program, ...settings, '--log-level', 'warn'], {
    stdio: ['ignore', 'pipe', profiling.length > 0 ? 'pipe' : 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  })
  const isInspected = awaitInspector(child)
  const stop = onCleanup(() => end(child))
  const banner = await new Promise<string>((ready, failed) => {
    let seen = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk
      if (seen.includes('Ready.')) ready(seen)
    })
    child.once('exit', (code) => failed(new Error(`belfry ended with ${code}:\n${seen}`)))
  })
  await isInspected
  child.removeAllListeners('exit')
  const url = /API\s+(http:\S+)\/v1\/tasks/.exec(banner)?.[1] ?? ''
  return { pid: child.pid ?? 0, url, stop }
}

/** Asks a process to end, and kills it if it does not. */
export function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    child.once('exit', () => {
      clearTimeout(late)
      resolve()
    })
    child.kill('SIGTERM')
  })
}

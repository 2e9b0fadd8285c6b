/**
 * Shows where the nodes spend their time, by function: `--profile` with any benchmark that measures CPU. Only the measured
 * period is profiled, through the inspector of each node. Profiling has a cost, so quoted figures come from a run without it.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'undici'
import { type Column, tableOf } from './report.ts'
import { ROOT } from './root.ts'

const SAMPLE_EVERY_US = 250
const SHOWN = 40
const FOLDER = join(ROOT, 'node_modules', '.cache', 'belfry-bench')

/** As the inspector answers it; `timeDeltas` says how long each of `samples` lasted, in microseconds. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

/** What a function took itself, without what it called. */
interface SelfTime {
  readonly name: string
  readonly ms: number
  readonly percent: number
}

const COLUMNS: readonly Column<SelfTime>[] = [
  { title: 'where', of: (row) => row.name },
  { title: 'self ms', of: (row) => row.ms },
  { title: '%', of: (row) => row.percent },
]

let isWanted = false
let profiles = 0
const inspectors = new Map<number, string>()

export function wantProfiles(): void {
  isWanted = true
}

/** What Node.js must be started with, so that it can be profiled. */
export const profilingArgs = (): readonly string[] => (isWanted ? ['--inspect=127.0.0.1:0'] : [])

/** Resolves when the inspector's address is known, for a process started with `profilingArgs`. */
export async function awaitInspector(child: ChildProcess): Promise<void> {
  if (!isWanted) return
  child.stderr?.pipe(process.stderr)
  await new Promise<void>((ready) => {
    let seen = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      seen = `${seen}${chunk}`.slice(-10_000)
      const address = /ws:\/\/\S+/.exec(seen)?.[0]
      if (address === undefined || child.pid === undefined) return
      inspectors.set(child.pid, address)
      ready()
    })
    child.once('exit', () => ready())
  })
}

/** Starts profiling those processes that can be profiled; the returned function stops and prints the result. */
export async function profile(pids: readonly number[]): Promise<() => Promise<void>> {
  if (!isWanted) return async () => {}
  const sessions = await Promise.all(
    pids.flatMap((pid) => {
      const address = inspectors.get(pid)
      return address === undefined ? [] : [startProfile(address)]
    }),
  )
  return async () => {
    for (const session of sessions) {
      const found = await session.stop()
      mkdirSync(FOLDER, { recursive: true })
      const file = join(FOLDER, `${process.pid}-${++profiles}.cpuprofile`)
      writeFileSync(file, JSON.stringify(found))
      print(found, file)
    }
  }
}

async function startProfile(address: string): Promise<{ stop(): Promise<CpuProfile> }> {
  const socket = new WebSocket(address)
  await new Promise<void>((opened, failed) => {
    socket.addEventListener('open', () => opened())
    socket.addEventListener('error', () => failed(new Error(`Cannot inspect ${address}`)))
  })
  let lastId = 0
  const call = <T>(method: string, params = {}) =>
    new Promise<T>((resolve) => {
      const id = ++lastId
      const hear = ({ data }: { readonly data: unknown }) => {
        const answer = JSON.parse(String(data)) as { readonly id?: number; readonly result: T }
        if (answer.id !== id) return
        socket.removeEventListener('message', hear)
        resolve(answer.result)
      }
      socket.addEventListener('message', hear)
      socket.send(JSON.stringify({ id, method, params }))
    })
  await call('Profiler.enable')
  await call('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
  await call('Profiler.start')
  return {
    stop: async () => {
      const { profile: found } = await call<{ readonly profile: CpuProfile }>('Profiler.stop')
      socket.close()
      return found
    },
  }
}

function print(found: CpuProfile, file: string): void {
  const selfUs = new Map<number, number>()
  for (const [i, id] of found.samples.entries())
    selfUs.set(id, (selfUs.get(id) ?? 0) + (found.timeDeltas[i] ?? 0))
  const functions = new Map<string, number>()
  const parts = new Map<string, number>()
  let idleUs = 0
  for (const { id, callFrame } of found.nodes) {
    const us = selfUs.get(id) ?? 0
    if (callFrame.functionName === '(idle)') idleUs += us
    else {
      const place = placeOf(callFrame)
      add(functions, `${callFrame.functionName || '(anonymous)'} ${place}`.trim(), us)
      add(parts, partOf(callFrame, place), us)
    }
  }
  const tables = [
    ['Where the time of a node went', parts],
    ['The functions that took most', functions],
  ] as const
  for (const [title, times] of tables)
    process.stderr.write(`\n${title}\n${tableOf(COLUMNS, largest(times))}\n`)
  process.stderr.write(`\nIdle ${Math.round(idleUs / 1_000)} ms. The whole profile: ${file}\n\n`)
}

function largest(times: ReadonlyMap<string, number>): SelfTime[] {
  const total = [...times.values()].reduce((sum, us) => sum + us, 0)
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN)
    .map(([name, us]) => ({ name, ms: us / 1_000, percent: (us / total) * 100 }))
}

function add(times: Map<string, number>, name: string, us: number): void {
  times.set(name, (times.get(name) ?? 0) + us)
}

/** Returns where a function belongs: the npm package, the part of Node.js, or the folder of the program. */
function partOf({ functionName, url }: CallFrame, place: string): string {
  if (functionName.startsWith('(')) return functionName
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
  if (name !== undefined) return name
  const [, folder] = /^(src\/[^/]+)/.exec(place) ?? []
  return folder ?? (url.startsWith('node:') ? (url.split('/')[0] ?? url) : url || 'native')
}

const maps = new Map<string, SourceMap | null>()

/** Returns the source file and line of a function of the program; for any other function, its position. */
function placeOf({ url, lineNumber, columnNumber }: CallFrame): string {
  if (!url.startsWith('file:')) return url
  const path = fileURLToPath(url)
  const entry = mapOf(path)?.findEntry(lineNumber, columnNumber)
  if (entry && 'originalSource' in entry)
    return `${entry.originalSource.replace(/^(\.\.\/)+/, '')}:${entry.originalLine + 1}`
  return `${relative(ROOT, path)}:${lineNumber + 1}`
}

function mapOf(path: string): SourceMap | null {
  const known = maps.get(path)
  if (known !== undefined) return known
  const file = `${path}.map`
  const map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
  maps.set(path, map)
  return map
}

/**
 * Where a run of the tests keeps its databases: in memory where there is plenty, else among the temporary files. To
 * clone the template takes 40 ms in memory and most of a second on a disk, and is done more than a hundred times. Tests
 * kill processes, not the power, and what a killed process has written is there again in both.
 */
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../../src/runtime/process-identity.ts'

const MEMORY = '/dev/shm'
/** Several times what a run of all tests has needed, and room for a second one beside it. */
const PLENTY_BYTES = 6 * 1024 ** 3
const NAME = /^belfry-tests-(\d+)-/

/** Creates a directory for this process that every user may enter, and removes those of processes that have ended. */
export function makeScratch(): string {
  const base = isPlentyOfMemory() ? MEMORY : tmpdir()
  for (const name of readdirSync(base)) {
    const pid = NAME.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) removeScratch(join(base, name))
  }
  const scratch = mkdtempSync(join(base, `belfry-tests-${process.pid}-`))
  chmodSync(scratch, 0o755)
  return scratch
}

/** A database that still runs there ends by itself when it finds its files gone. */
export function removeScratch(scratch: string): void {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}

function isPlentyOfMemory(): boolean {
  try {
    accessSync(MEMORY, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    const available = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
    return bavail * bsize >= PLENTY_BYTES && Number(available) * 1024 >= PLENTY_BYTES && mayRunPrograms()
  } catch {
    return false
  }
}

/** Belfry copies PostgreSQL next to the data if its user cannot access the installed one. */
function mayRunPrograms(): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const options = mounts.findLast(([, where]) => where === MEMORY)?.[3] ?? 'noexec'
  return !options.split(',').includes('noexec')
}

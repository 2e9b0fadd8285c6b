import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

/** The process that listens on a port. */
export interface PortUser {
  readonly pid: number
  readonly name: string
}

const LSOF_TIMEOUT_MS = 2_000
const LISTENING = '0A'

/** Whether this process could listen on the port. Errors other than a port in use count as yes. */
export function isPortFree(host: string, port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(true)
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/** Returns the process that listens on a port; null if it cannot be determined. */
export function findPortUser(port: number): PortUser | null {
  try {
    return process.platform === 'linux' ? fromProc(port) : fromLsof(port)
  } catch {
    return null
  }
}

/** Finds the listening socket in /proc, and the process that has it open. */
function fromProc(port: number): PortUser | null {
  const inodes = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listeningInodes(readIfThere(file), port)),
  )
  if (inodes.size === 0) return null
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const pid = pids.find((candidate) => socketsOf(candidate).some((inode) => inodes.has(inode)))
  return pid === undefined ? null : { pid: Number(pid), name: readIfThere(`/proc/${pid}/comm`).trim() }
}

function listeningInodes(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    return local.endsWith(ending) && state === LISTENING ? [inode] : []
  })
}

function socketsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkTarget(`/proc/${pid}/fd/${fd}`)) ?? []
      return inode === undefined ? [] : [inode]
    })
  } catch {
    return [] // The process belongs to another user.
  }
}

function fromLsof(port: number): PortUser | null {
  const output = execFileSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], {
    encoding: 'utf8',
    timeout: LSOF_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [, pid, name = ''] = /^p(\d+)\nc(.*)$/m.exec(output) ?? []
  return pid === undefined ? null : { pid: Number(pid), name }
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // Closed meanwhile.
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

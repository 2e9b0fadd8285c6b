/** A Redis server of its own for BullMQ, with the append-only file that its documentation asks for. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { end } from './belfry.ts'
import { onCleanup } from './cleanup.ts'

export interface Redis {
  readonly pid: number
  readonly socket: string
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 10_000
const POLL_MS = 20

/** Fails at once if there is no Redis server, rather than after the other contenders were measured. */
export function requireRedis(): void {
  if (spawnSync('redis-server', ['--version']).status === 0) return
  throw new Error(
    'BullMQ needs a Redis server: install the package redis-server (apt-get install redis-server, brew install redis), or leave BullMQ out with --only belfry,graphile,pg-boss.',
  )
}

export async function startRedis(): Promise<Redis> {
  const dir = mkdtempSync(join(tmpdir(), 'belfry-bench-redis-'))
  const socket = join(dir, 'redis.sock')
  const settings = ['--port', '0', '--unixsocket', socket, '--dir', dir, '--save', '']
  const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec']
  const child = spawn('redis-server', [...settings, ...durable], { stdio: 'ignore' })
  const stop = onCleanup(async () => {
    await end(child)
    rmSync(dir, { recursive: true, force: true })
  })
  const deadline = performance.now() + START_TIMEOUT_MS
  while (!existsSync(socket)) {
    if (performance.now() > deadline || child.exitCode !== null)
      throw new Error('redis-server did not start.')
    await delay(POLL_MS)
  }
  return { pid: child.pid ?? 0, socket, stop }
}

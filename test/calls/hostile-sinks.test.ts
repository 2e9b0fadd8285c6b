/** Receivers that mean harm, against the real program: each has the one right outcome, and memory stays bounded. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startPeer } from './peer.ts'

const MIB = 1024 * 1024
/** Each harm comes this often at once. */
const AT_ONCE = 2
/** Beyond what the program needs to do anything at all. */
const MAX_GROWTH_MIB = 100
/** For machines that do much else at the same time. */
const TIME_LIMIT_MS = 240_000

interface Expected {
  readonly state: string
  readonly code?: string
  readonly output?: object
  /** Of two that the task allows: a failure that may be another one next time is tried again. */
  readonly attempts: number
}
const completed = (output: object): Expected => ({ state: 'completed', output, attempts: 1 })
const failed = (code: string, output?: object): Expected => ({
  state: 'permanently_failed',
  code,
  attempts: 2,
  ...(output === undefined ? {} : { output }),
})
const final = (code: string, output?: object): Expected => ({ ...failed(code, output), attempts: 1 })
/** Bytes and a reset that are read together look like an end. */
const BROKEN = 'connection_reset or connection_closed'
const FOLLOW = { followRedirects: 10 }
const POST = { method: 'POST', body: 'x'.repeat(200_000) }

/** What each is asked for with, and what becomes of it. */
const HARMS: Readonly<Record<string, readonly [more: object, expected: Expected]>> = {
  // Without an end.
  '/endless': [{}, completed({ status: 200, truncated: true })],
  '/endless-error': [{}, failed('http_status', { status: 500, truncated: true })],
  '/endless-pieces': [{}, completed({ status: 200, truncated: true })],
  '/endless-head': [{}, failed('protocol_error')],
  '/endless-interim': [{}, failed('protocol_error')],
  '/endless-extension': [{}, failed('protocol_error', { status: 200 })],
  '/endless-trailers': [{}, failed('protocol_error')],
  '/length-of-a-disk': [{}, completed({ status: 200, truncated: true })],
  // Too large.
  '/many-headers': [{}, failed('protocol_error')],
  '/long-header': [{}, failed('protocol_error')],
  '/bomb': [{}, completed({ status: 200, truncated: true, bodyEncoding: 'base64' })],
  '/huge-chunk': [{}, failed('protocol_error')],
  '/deep': [{}, completed({ status: 200, truncated: true })],
  // Too slow.
  '/drip': [{}, failed('timed_out')],
  '/drip-head': [{ firstByteTimeout: '500ms' }, failed('first_byte_timeout')],
  '/drip-chunks': [{}, failed('timed_out')],
  '/drip-interim': [{}, failed('protocol_error')],
  '/silent': [{}, failed('timed_out')],
  '/unread': [POST, failed('timed_out')],
  '/long-status': [{}, failed('timed_out')],
  // Broken off.
  '/reset': [{}, failed(BROKEN, { status: 200, body: 'some', truncated: true })],
  '/reset-at-once': [{}, failed(BROKEN)],
  '/cut': [{}, failed('connection_closed', { status: 200, body: 'some', truncated: true })],
  '/cut-head': [{}, failed('connection_closed')],
  '/cut-chunk': [{}, failed('connection_closed', { status: 200, body: 'some', truncated: true })],
  '/nothing': [{}, failed('connection_closed')],
  // Not HTTP.
  '/garbage': [{}, failed('protocol_error')],
  '/http2': [{}, failed('protocol_error')],
  '/version': [{}, failed('protocol_error')],
  '/status-only': [{}, failed('protocol_error')],
  '/status-word': [{}, failed('protocol_error')],
  '/nul-header': [{}, failed('protocol_error')],
  '/space-in-name': [{}, failed('protocol_error')],
  '/bare-newline': [{}, failed('protocol_error')],
  '/switching': [{}, failed('protocol_error')],
  // At odds with themselves.
  '/negative': [{}, failed('protocol_error')],
  '/two-framings': [{}, failed('protocol_error')],
  '/two-lengths': [{}, failed('protocol_error')],
  '/length-in-words': [{}, failed('protocol_error')],
  '/length-overflow': [{}, failed('protocol_error')],
  '/chunk-in-words': [{}, failed('protocol_error')],
  '/nothing-with-body': [{}, completed({ status: 204, body: '' })],
  '/status-999': [{}, final('http_status', { status: 999 })],
  // Elsewhere.
  '/loop': [FOLLOW, final('too_many_redirects', { status: 302 })],
  '/to-and': [FOLLOW, final('too_many_redirects', { status: 302 })],
  '/to-nowhere': [FOLLOW, final('redirect_refused', { status: 302 })],
  '/to-ftp': [FOLLOW, final('redirect_refused', { status: 302 })],
  '/to-user': [FOLLOW, final('redirect_refused', { status: 302 })],
  '/to-metadata': [FOLLOW, final('forbidden_address')],
  '/later': [{}, failed('http_status', { status: 503 })],
  // Not what it says.
  '/not-brotli': [{}, completed({ status: 200, body: 'nothing' })],
  '/not-text': [{}, completed({ status: 200, bodyEncoding: 'base64' })],
  '/nul-text': [{}, completed({ status: 200, bodyEncoding: 'base64' })],
}

const database = await createTestDatabase()

test(
  'each hostile receiver causes the expected outcome, costs little memory, and harms no other run',
  async () => {
    const sink = await startPeer<{ poured?: number; ports?: Record<string, number> }>('./hostile-process.mjs')
    const ports = sink.told.find((message) => message.ports)?.ports ?? {}
    const belfry = await startBelfry(['--database-url', database.url, '--concurrency', '200'])
    const task = (path: string, more: object = {}) => ({
      name: path,
      action: { type: 'http', url: `http://127.0.0.1:${ports[path]}${path}`, ...more },
      retry: { limit: 1, initial: '1ms', max: '1ms' },
      // Whoever is not to be cut off by it has time enough on any machine.
      timeout: HARMS[path]?.[1].code === 'timed_out' ? '3s' : '2m',
    })
    await ended(
      belfry,
      await create(
        belfry,
        Array.from({ length: 100 }, () => task('/fine')),
      ),
    )
    const before = residentMib(belfry.pid)

    const harmful = Object.entries(HARMS).flatMap(([path, [more]]) =>
      Array.from({ length: AT_ONCE }, () => task(path, more)),
    )
    const ids = await create(belfry, harmful)
    const good = await ended(
      belfry,
      await create(
        belfry,
        Array.from({ length: 50 }, () => task('/fine')),
      ),
    )
    const runs = await ended(belfry, ids)

    for (const [i, run] of runs.entries()) {
      const path = harmful[i]?.name ?? ''
      const [, expected] = HARMS[path] ?? [{}, failed('no such harm')]
      const { state, code, output, attempts } = expected
      const { message } = run.error ?? {}
      expect({ path, state: run.state, attempts: run.attempt, message }).toEqual({
        path,
        state,
        attempts,
        message,
      })
      if (code === undefined) expect(run.error, path).toBeNull()
      else expect(code.split(' or '), `${path}: ${run.error?.message}`).toContain(run.error?.code)
      if (output !== undefined) expect(run.output, path).toMatchObject(output)
    }
    expect(good.map(({ state }) => state)).toEqual(good.map(() => 'completed'))
    const poured = Math.max(0, ...sink.told.map(({ poured = 0 }) => poured)) / MIB
    const growth = peakMib(belfry.pid) - before
    process.stdout.write(
      `  ${ids.length} harmful calls: +${growth.toFixed(0)} MiB at the peak, ${poured.toFixed(0)} MiB poured\n`,
    )
    if (process.platform === 'linux') expect(growth).toBeLessThan(MAX_GROWTH_MIB)
  },
  TIME_LIMIT_MS,
)

test(
  'data that a receiver appends to its answer is not taken for the next answer',
  async () => {
    const sink = await startPeer('./hostile-process.mjs')
    const url = `http://127.0.0.1:${sink.port}`
    const belfry = await startBelfry([
      '--database-url',
      (await createTestDatabase()).url,
      '--concurrency',
      '1',
    ])
    const ping = (path: string) => ({ action: { type: 'ping', url: url + path }, retry: { limit: 0 } })

    const runs = await ended(
      belfry,
      await create(belfry, ['/smuggled', '/fine', '/smuggled', '/fine', '/fine'].map(ping)),
    )

    expect(runs.map(({ state, output }) => [state, output?.status])).toEqual(
      runs.map(() => ['completed', 200]),
    )
  },
  TIME_LIMIT_MS,
)

async function create(belfry: Belfry, tasks: readonly object[]): Promise<string[]> {
  const { body } = await belfry.request('POST', '/v1/tasks/bulk', { tasks })
  return body.items.map(({ id }: { id: string }) => id)
}

/** The runs of tasks that run once, in the order of the tasks. */
async function ended(belfry: Belfry, ids: readonly string[]) {
  const runs = []
  for (const id of ids) {
    runs.push(
      await eventually(
        async () => {
          const { body } = await belfry.request('GET', `/v1/tasks/${id}/runs`)
          return body.items[0]?.endedAt ? body.items[0] : undefined
        },
        { withinMs: 180_000 },
      ),
    )
  }
  return runs
}

const statusOf = (pid: number, field: string): number => {
  if (process.platform !== 'linux') return 0
  const [, kib = '0'] =
    new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}
const residentMib = (pid: number) => statusOf(pid, 'VmRSS')
const peakMib = (pid: number) => statusOf(pid, 'VmHWM')

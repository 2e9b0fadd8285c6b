/** Receivers that mean harm, against the real program: each has the one right outcome, and memory stays bounded. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startPeer } from './peer.ts'

const MIB = 1024 * 1024
/** Each harm comes this often at once. */
const AT_ONCE = 3
/** Beyond what the program needs to do anything at all. */
const MAX_GROWTH_MIB = 100
/** For machines that do much else at the same time. */
const TIME_LIMIT_MS = 150_000

type Expected = { readonly state: string; readonly code?: string; readonly output?: object }
const failed = (code: string, output?: object): Expected => ({
  state: 'permanently_failed',
  code,
  ...(output === undefined ? {} : { output }),
})
/** Bytes and a reset that are read together look like an end. */
const BROKEN = 'connection_reset or connection_closed'
const completed = (output: object): Expected => ({ state: 'completed', output })

/** What each is asked for with, and what becomes of it. */
const HARMS: Readonly<Record<string, readonly [more: object, expected: Expected]>> = {
  '/endless': [{}, completed({ status: 200, truncated: true })],
  '/endless-error': [{}, failed('http_status', { status: 500, truncated: true })],
  '/endless-pieces': [{}, completed({ status: 200, truncated: true })],
  '/endless-head': [{}, failed('protocol_error')],
  '/many-headers': [{}, failed('protocol_error')],
  '/long-header': [{}, failed('protocol_error')],
  '/endless-interim': [{}, failed('protocol_error')],
  '/drip': [{}, failed('timed_out')],
  '/drip-head': [{ firstByteTimeout: '500ms' }, failed('first_byte_timeout')],
  '/silent': [{}, failed('timed_out')],
  '/bomb': [{}, completed({ status: 200, truncated: true, bodyEncoding: 'base64' })],
  '/loop': [{ followRedirects: 10 }, failed('too_many_redirects', { status: 302 })],
  '/reset': [{}, failed(BROKEN, { status: 200, body: 'some', truncated: true })],
  '/cut': [{}, failed('connection_closed', { status: 200, body: 'some', truncated: true })],
  '/nothing': [{}, failed('connection_closed')],
  '/garbage': [{}, failed('protocol_error')],
  '/negative': [{}, failed('protocol_error')],
  '/two-framings': [{}, failed('protocol_error')],
  '/huge-chunk': [{}, failed('protocol_error')],
}

const database = await createTestDatabase()

test(
  'harm has the one right outcome, costs little memory, and nobody else anything',
  async () => {
    const sink = await startPeer<{ poured: number }>('./hostile-process.mjs')
    const url = `http://127.0.0.1:${sink.port}`
    const belfry = await startBelfry(['--database-url', database.url, '--concurrency', '200'])
    const task = (path: string, more: object = {}) => ({
      name: path,
      action: { type: 'http', url: url + path, ...more },
      retry: { limit: 0 },
      timeout: '5s',
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
      const { state, code, output } = expected
      expect({ path, state: run.state }).toEqual({ path, state })
      if (code === undefined) expect(run.error, path).toBeNull()
      else expect(code.split(' or '), `${path}: ${run.error?.message}`).toContain(run.error?.code)
      if (output !== undefined) expect(run.output, path).toMatchObject(output)
    }
    expect(good.map(({ state }) => state)).toEqual(good.map(() => 'completed'))
    const poured = Math.max(0, ...sink.told.map((message) => message.poured)) / MIB
    const growth = peakMib(belfry.pid) - before
    process.stdout.write(
      `  ${ids.length} harmful calls: +${growth.toFixed(0)} MiB at the peak, ${poured.toFixed(0)} MiB poured\n`,
    )
    if (process.platform === 'linux') expect(growth).toBeLessThan(MAX_GROWTH_MIB)
  },
  TIME_LIMIT_MS,
)

test(
  'what a receiver adds to its answer is nobody else’s answer',
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
        { withinMs: 60_000 },
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

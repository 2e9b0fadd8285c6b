/** The disk of the database fills up, for real, and is freed again. It takes a file system of its own, which only root can mount. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { whenDone } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const SIZE = '500m'
const CHUNKS = [1024 * 1024, 4096]
const SLEEP = { type: 'sleep', duration: '0s' }

const directory = mkdtempSync(join(tmpdir(), 'belfry-disk-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'tmpfs', directory], {
  encoding: 'utf8',
})
const isMounted = mounted.status === 0
if (!isMounted)
  process.stderr.write(`Skipped: no file system can be mounted here (${mounted.stderr.trim()}).\n`)
whenDone(() => {
  if (isMounted) spawnSync('umount', ['--lazy', directory])
  rmdirSync(directory)
})

/** Leaves no byte free; answers how to free it again. */
function fillDisk(): () => void {
  const ballast = join(directory, 'ballast')
  for (const size of CHUNKS) {
    const chunk = Buffer.alloc(size)
    try {
      for (;;) appendFileSync(ballast, chunk)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  return () => rmSync(ballast)
}

test.skipIf(!isMounted)(
  'a full disk is reported, stops no node, and clears when there is space again',
  async () => {
    const belfry = await startBelfry(['--data-dir', join(directory, 'data')])
    const { body: steady } = await belfry.request('POST', '/v1/tasks', {
      action: SLEEP,
      schedule: { type: 'every', interval: '1s' },
      misfire: { policy: 'run_all' },
    })
    const completed = async () =>
      (await belfry.request('GET', `/v1/tasks/${steady.id}/runs?state=completed`)).body.items.length as number
    await eventually(async () => (await completed()) > 0)

    const freeDisk = fillDisk()
    const tasks = Array.from({ length: 500 }, () => ({
      action: SLEEP,
      schedule: { type: 'manual' },
      metadata: { filler: 'x'.repeat(1_000) },
    }))
    const refused = await eventually(async () => {
      const answer = await belfry.request('POST', '/v1/tasks/bulk', { tasks })
      return answer.status !== 201 && answer
    })
    expect(refused).toMatchObject({ status: 503, body: { code: 'database_full' } })
    expect(refused.body.detail).toContain('Free or add disk space')
    expect(refused.headers.get('retry-after')).toBe('5')
    const readiness = await eventually(async () => {
      const answer = await belfry.request('GET', '/readyz')
      return answer.status === 503 && answer
    })
    expect(readiness.body).toMatchObject({ status: 'not_ready', code: 'database_full' })
    const { body: stats } = await eventually(async () => {
      const answer = await belfry.request('GET', '/v1/stats')
      return answer.status === 200 && !answer.body.verdict.isFine && answer
    })
    expect(stats.verdict.sentence).toContain('PostgreSQL has run out of disk space')
    expect((await belfry.request('GET', '/healthz')).status).toBe(200)

    freeDisk()
    await eventually(async () => (await belfry.request('GET', '/readyz')).status === 200)
    const after = await completed()
    await eventually(async () => (await completed()) > after)
    const { body: created } = await belfry.request('POST', '/v1/tasks', { action: SLEEP })
    await eventually(
      async () => (await belfry.request('GET', `/v1/tasks/${created.id}`)).body.state === 'finished',
    )
    await eventually(async () => {
      const { body } = await belfry.request('GET', `/v1/tasks/${steady.id}/ledger`)
      return body.isInOrder as boolean
    })
    belfry.kill('SIGTERM')
    expect((await belfry.exited).code).toBe(0)
  },
)

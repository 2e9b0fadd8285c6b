/** A node with too few open files says so, delays calls that find none, and goes on. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startBelfry } from '../support/process.ts'
import { startPeer } from './peer.ts'

interface Told {
  readonly opened?: string
}

const CALLS = 60
/** Takes what the node believes to be free, as a leak in the same process would. */
const TAKE_FILES = new URL('./take-files.mjs', import.meta.url).href
const LIMITED = ['bash', '-c', 'ulimit -n 200; exec "$@"', 'limited']

test.skipIf(process.platform === 'win32')(
  'calls that find no free file descriptor are delayed, use no attempt, and leave the API working',
  async () => {
    const database = await createTestDatabase()
    const observer = await startTestNode(database, { roles: 'api' })
    const sink = await startPeer<Told>('./holding-process.mjs')
    const args = ['--database-url', database.url, '--concurrency', '100', '--log-level', 'info']
    const node = await startBelfry(args, { prefix: LIMITED, nodeArgs: ['--import', TAKE_FILES] })
    const tasks = Array.from({ length: CALLS }, (_, i) => ({
      action: { type: 'webhook', url: `http://127.0.0.1:${sink.port}/${i}` },
      retry: { limit: 0 },
    }))

    node.kill('SIGUSR2')
    await node.said(/took \d+ files/)
    await observer.request('POST', '/v1/tasks/bulk', { tasks })
    await node.said(/attempt postponed: the worker ran out of sockets/, 'stderr')
    const runs = await eventually(async () => {
      await sink.say({ answer: true })
      const { items } = (await observer.request('GET', `/v1/runs?limit=${CALLS}`)).body
      const ended = items.filter(({ endedAt }: { endedAt: string | null }) => endedAt !== null)
      return ended.length === CALLS && ended
    })

    expect(node.log).toContainEqual(
      expect.objectContaining({
        msg: expect.stringMatching(/may open 200 files, .* run "ulimit -n \d+" before/),
      }),
    )
    expect(
      runs.map(({ state, attempt }: { state: string; attempt: number }) => ({ state, attempt })),
    ).toEqual(runs.map(() => ({ state: 'completed', attempt: 1 })))
    expect(sink.told.filter(({ opened }) => opened !== undefined)).toHaveLength(CALLS)
    expect((await node.request('GET', '/healthz')).status).toBe(200)
  },
)

/** A worker of the package inside somebody's bundle, as programs are shipped, and one that cannot beat. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, launch, startBelfry } from '../support/process.ts'

const PROGRAM = fileURLToPath(new URL('../support/bundled-worker.mjs', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const { url } = await createTestDatabase()
const node = await startBelfry(['--database-url', url, '--heartbeat-ms', '200', '--lease-ms', '6000'])
const env = { BELFRY_URL: node.url }

/** The program in one file, far from everything that it was made of. */
async function bundled(): Promise<string> {
  const outfile = join(aDirectory(), 'worker.mjs')
  const alias = { 'belfry/worker': join(ROOT, 'dist/worker.js') }
  await build({
    entryPoints: [PROGRAM],
    alias,
    outfile,
    ...{ bundle: true, platform: 'node', format: 'esm', minify: true, keepNames: true },
  })
  return outfile
}

/** Creates a task for a handler; answers its run once that has ended. */
async function performed(name: string, payload: unknown) {
  const action = { type: 'handler', name, payload }
  const { body: task } = await node.request('POST', '/v1/tasks', { action, retry: { limit: 0 } })
  return eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${task.id}/runs`)
    return body.items[0]?.endedAt ? body.items[0] : undefined
  })
}

const theWorker = async () => {
  const { body } = await node.request('GET', '/v1/workers')
  return body.items.find(
    ({ roles, state }: { roles: string[]; state: string }) => roles[0] === 'remote' && state === 'alive',
  )
}

test('a bundled worker sends heartbeats, performs runs and shows errors of its handlers', async () => {
  const worker = launch([], { program: await bundled(), env })
  const [, id] = await worker.said(/worker (\S+) provides greet, break/, 'stderr')

  const { beatAt } = await eventually(theWorker)
  await eventually(async () => Date.parse((await theWorker())?.beatAt) > Date.parse(beatAt) + 1_000)
  expect(await performed('greet', { name: 'Ada' })).toMatchObject({
    state: 'completed',
    output: { result: 'Hello, Ada!' },
  })
  const { id: runId } = await performed('break', null)

  const [shown] = await worker.said(/error: handler 'break' failed[\s\S]*somebody smoked/, 'stderr')
  expect(shown).toContain(`in run ${runId}, attempt 1: Error: the disk is on fire\n    at breakOnPurpose`)
  expect(shown.match(/the disk is on fire/g)).toHaveLength(1)
  expect((await theWorker())?.id).toBe(id)
  worker.kill('SIGTERM')
  expect((await worker.exited).code).toBe(0)
})

test('a worker that cannot start its thread ends, and says why', async () => {
  const source = `import threads from 'node:worker_threads'
    import { syncBuiltinESMExports } from 'node:module'
    threads.Worker = class { constructor() { throw new Error('no threads here') } }
    syncBuiltinESMExports()`
  const without = ['--import', `data:text/javascript,${encodeURIComponent(source)}`]

  const { code, stderr } = await launch([], { program: PROGRAM, nodeArgs: without, env }).exited

  expect(code).toBe(1)
  expect(stderr).toContain('error: the heartbeat thread failed: no threads here')
})

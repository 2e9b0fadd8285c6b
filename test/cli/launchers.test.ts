/** What starts the program is also what people stop: npm, npx, a balancer's probes, an orchestrator's signals. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, embeddedPostmaster, startBelfry } from '../support/process.ts'
import { request } from '../support/request.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test.each([
  ['npm', ['start', '--']],
  ['npx', ['belfry', 'start']],
])('SIGTERM to %s stops the node and its database', async (command, args) => {
  const dataDir = join(aDirectory(), 'data')
  const launcher = spawn(command, [...args, '--port', '0', '--data-dir', dataDir], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void launcher.kill('SIGKILL'))
  let said = ''
  for (const stream of [launcher.stdout, launcher.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  await eventually(async () => said.includes('Ready.'), { otherwise: () => said })
  expect(embeddedPostmaster(dataDir)).not.toBeNull()

  launcher.kill('SIGTERM')

  await eventually(async () => embeddedPostmaster(dataDir) === null, { otherwise: () => said })
})

test('a node that is stopping answers 503 on /readyz before its port closes', async () => {
  const { url } = await createTestDatabase()
  const belfry = await startBelfry(['--database-url', url, '--drain-ms', '600000'])
  expect((await belfry.request('GET', '/readyz')).status).toBe(200)

  belfry.kill('SIGTERM')

  const answer = await eventually(async () => {
    const readiness = await belfry.request('GET', '/readyz')
    return readiness.status === 503 && readiness
  })
  expect(answer.body).toEqual({
    status: 'not_ready',
    code: 'stopping',
    reasons: ['The node is stopping.'],
  })
  expect((await belfry.request('GET', '/healthz')).status).toBe(200)
})

test('a node without the api role answers probes on a separate port, under any host name', async () => {
  const { url } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url, '--roles', 'worker'])
  const [, probes = ''] = /Probes {2,}(http:\S+)\/readyz/.exec(node.stdout) ?? []

  const ask = (path: string) => request(probes, 'GET', path, undefined, { host: 'worker-7.example.com' })

  expect((await ask('/healthz')).body).toEqual({ status: 'ok' })
  expect((await ask('/readyz')).body).toEqual({ status: 'ready', code: null, reasons: [] })
  expect((await ask('/v1/tasks')).status).toBe(404)
})

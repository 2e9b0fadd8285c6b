/** A runner on a machine with much to do: what it reads late was said in time. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { childrenOf } from '../../src/sandbox/processes.ts'
import { eventually } from '../support/eventually.ts'
import { aLabel, aScript, aTask, ended, isRunning, startServer, startWorker } from './support.ts'

/** Longer than a runner is sure of its lease, which is three quarters of 15 s by default. */
const UNSCHEDULED_MS = 12_000

test('a runner that gets no processor time for most of its lease continues', {
  timeout: 240_000,
}, async () => {
  const server = await startServer([])
  const label = aLabel()
  const mark = `mark-${label}`
  const worker = await startWorker(server.url, { args: ['--label', label] })
  const file = await aScript(server, ['sleep 14', 'echo done'])
  const taskId = await aTask(server, { action: { type: 'exec', file, args: [mark] }, labels: [label] })
  await eventually(async () => isRunning(mark))
  const [runner = 0] = childrenOf(worker.pid)

  process.kill(runner, 'SIGSTOP')
  await delay(UNSCHEDULED_MS)
  process.kill(runner, 'SIGCONT')

  expect(await ended(server, taskId)).toMatchObject({
    state: 'completed',
    attempt: 1,
    losses: 0,
    output: { stdout: 'done\n' },
  })
})

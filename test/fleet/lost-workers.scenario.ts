/** Workers that die or hang at every step of an attempt: the program completes elsewhere, never runs twice at once, and each loss is recorded once. */
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { Launched } from '../support/process.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startGateway, type Withheld } from './gateway.ts'
import {
  aLabel,
  aScript,
  aTask,
  ended,
  isRunning,
  latestRun,
  type Run,
  startServer,
  startWorker,
} from './support.ts'

/** As a server is by default: a heartbeat every 5 s, a lease of 15 s. */
const server = await startServer([])

/** Writes down which attempt it is and when, time and again. The first attempt stays until it is killed, unless it is told to end. */
const SCRIPT = [
  'while :; do',
  '  echo "$BELFRY_ATTEMPT $(date +%s%N)"',
  '  if [ "$1" = end ] || [ "$BELFRY_ATTEMPT" -gt 1 ]; then exit 0; fi',
  '  sleep 0.1',
  'done',
]

const tell = (text: string) => process.stdout.write(`  ${text}\n`)

const STEPS: readonly { name: string; withheld: Withheld; begins: boolean; isLeftRunning: boolean }[] = [
  { name: 'after the claim', withheld: 'claim', begins: false, isLeftRunning: false },
  { name: 'during the download', withheld: 'download', begins: false, isLeftRunning: false },
  { name: 'during the run', withheld: null, begins: true, isLeftRunning: true },
  { name: 'before the report', withheld: 'report', begins: true, isLeftRunning: false },
]

test.each(STEPS)(
  'the run of a worker killed $name completes on another worker',
  { timeout: 240_000 },
  async (step) => {
    const label = aLabel()
    const mark = `mark-${label}`
    const gateway = await startGateway(server.url, step.withheld)
    const victim = await startWorker(gateway.url, { args: ['--label', label] })
    const taskId = await aProgram(label, [step.isLeftRunning ? 'stay' : 'end', mark])
    // A line that the worker has not sent yet is lost with it.
    const hasWritten = async () => {
      const run = await latestRun(server, taskId)
      return run !== undefined && (await linesOf(run)).length > 0
    }
    await (step.isLeftRunning ? eventually(hasWritten) : gateway.withheld)

    victim.kill('SIGKILL')
    const killedAt = performance.now()
    await victim.exited
    const successor = await startWorker(server.url, { args: ['--label', label] })
    const run = await ended(server, taskId, 120_000)

    tell(`killed ${step.name}: completed elsewhere after ${seconds(performance.now() - killedAt)}`)
    await expectOneLoss(run)
    expect(await workerName(run)).toContain(`/${successor.pid}`)
    expect(attemptsOf(await linesOf(run))).toEqual(step.begins ? [1, 2] : [2])
    await expectNeverTwice(run)
  },
)

test('a worker that hangs past its lease changes nothing when it wakes up', {
  timeout: 240_000,
}, async () => {
  const label = aLabel()
  const mark = `mark-${label}`
  const sleeper = await startWorker(server.url, { args: ['--label', label] })
  const taskId = await aProgram(label, ['stay', mark])
  await eventually(async () => isRunning(mark))
  const successor = await startWorker(server.url, { args: ['--label', label] })

  sleeper.kill('SIGSTOP')
  const stoppedAt = performance.now()
  const run = await ended(server, taskId, 120_000)
  const tookMs = performance.now() - stoppedAt
  const isLeft = isRunning(mark)
  sleeper.kill('SIGCONT')
  await sleeper.said(/was declared dead; its runs were reassigned/, 'stderr')

  tell(`hung: completed elsewhere after ${seconds(tookMs)}`)
  expect(isLeft).toBe(false)
  await expectOneLoss(run)
  await expectNeverTwice(run)
  await stop(successor)
  // It has registered again, and works on.
  const next = await ended(server, await aProgram(label, ['end', mark]))
  expect([next.state, await workerName(next)]).toEqual([
    'completed',
    expect.stringContaining(`/${sleeper.pid}`),
  ])
  expect(await latestRun(server, taskId)).toEqual(run)
})

test('a command that is installed later is found, and a removed one is no longer offered', {
  timeout: 240_000,
}, async () => {
  // What lies beneath /dev is not to be seen in a sandbox.
  const [label, folder] = [aLabel(), await scratchFolder()]
  chmodSync(folder, 0o755)
  const command = join(folder, 'report')
  const allowed = ['--exec-commands', `${folder}/*`, '--exec-readable', folder]
  await startWorker(server.url, { args: ['--label', label, ...allowed] })
  const action = { type: 'exec', command }
  const taskId = await aTask(server, { action, labels: [label] })
  const why = async () => (await server.request('GET', `/v1/tasks/${taskId}/why`)).body.code
  await eventually(async () => (await why()) === 'no_capable_worker')

  writeFileSync(command, '#!/bin/sh\necho found\n')
  chmodSync(command, 0o755)

  expect(await ended(server, taskId)).toMatchObject({ state: 'completed', output: { stdout: 'found\n' } })
  rmSync(command)
  await eventually(async () => {
    const { body } = await server.request('GET', '/v1/workers')
    return body.items.some(
      ({ offers }: { offers: { labels: string[]; commands: string[] } | null }) =>
        offers?.labels.includes(label) && offers.commands.length === 0,
    )
  })
})

async function aProgram(label: string, args: readonly string[]): Promise<string> {
  const file = await aScript(server, SCRIPT)
  return aTask(server, { action: { type: 'exec', file, args }, labels: [label] })
}

/** The run completed with its second attempt, and the first was lost. */
async function expectOneLoss({ id }: Run): Promise<void> {
  const { body } = await server.request('GET', `/v1/runs/${id}`)
  expect(body).toMatchObject({ state: 'completed', attempt: 2, losses: 1 })
  const attempts: Run[] = body.attempts
  expect(attempts.map(({ number, outcome }) => [number, outcome])).toEqual([
    [1, 'worker_lost'],
    [2, 'completed'],
  ])
}

/** What the program wrote: the attempt, and when. */
async function linesOf({ id }: Run): Promise<[attempt: number, at: bigint][]> {
  const { body } = await server.request('GET', `/v1/runs/${id}/log?limit=1000`)
  return body.items.map(({ text }: { text: string }) => {
    const [attempt = '', at = ''] = text.split(' ')
    return [Number(attempt), BigInt(at)]
  })
}

const attemptsOf = (lines: readonly [number, bigint][]) => [...new Set(lines.map(([attempt]) => attempt))]

/** By the clock of the machine, the first attempt had written its last line before the second began. */
async function expectNeverTwice(run: Run): Promise<void> {
  const lines = await linesOf(run)
  const inTime = lines.toSorted(([, a], [, b]) => (a < b ? -1 : 1)).map(([attempt]) => attempt)
  expect(inTime).toEqual(inTime.toSorted((a, b) => a - b))
}

async function workerName({ workerId }: Run): Promise<string | undefined> {
  const { body } = await server.request('GET', '/v1/workers')
  return body.items.find(({ id }: { id: string }) => id === workerId)?.name
}

async function stop(worker: Launched): Promise<void> {
  worker.kill('SIGTERM')
  await worker.exited
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

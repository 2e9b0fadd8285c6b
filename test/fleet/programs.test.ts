/** Programs on remote workers, from the upload to what is stored of them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { sha256 } from '../files/support.ts'
import { eventually } from '../support/eventually.ts'
import {
  aCache,
  aLabel,
  aScript,
  aTask,
  ended,
  isRunning,
  runWhen,
  startServer,
  startWorker,
} from './support.ts'

const server = await startServer()

test('a program runs on a remote worker, from its upload to its output', { timeout: 120_000 }, async () => {
  const label = aLabel()
  const worker = await startWorker(server.url, { args: ['--label', label] })
  const file = await aScript(server, [
    'echo "working for $1"',
    'cat input.txt >&2',
    'read -r line',
    'echo "::output {\\"attempt\\": $BELFRY_ATTEMPT, \\"read\\": \\"$line\\", \\"mode\\": \\"$MODE\\"}"',
  ])

  const taskId = await aTask(server, {
    action: {
      ...{ type: 'exec', file, args: ['orders'], env: { MODE: 'full' }, stdin: 'one\ntwo\n' },
      files: [{ path: 'input.txt', content: 'some input' }],
    },
    labels: [label],
  })

  const run = await ended(server, taskId)
  expect(run).toMatchObject({
    state: 'completed',
    output: { attempt: 1, read: 'one', mode: 'full' },
  })
  expect(worker.stdout).toContain(label)
  const { body } = await server.request('GET', '/v1/workers')
  expect(body.items.find(({ id }: { id: string }) => id === run.workerId)?.offers).toMatchObject({
    actions: ['exec', 'http'],
    labels: expect.arrayContaining([`os=${process.platform}`, `arch=${process.arch}`, label]),
  })
})

test('a program sees neither the attempt token nor the addresses of its files', {
  timeout: 120_000,
}, async () => {
  const label = aLabel()
  const key = 'secret-of-the-worker'
  await startWorker(server.url, { args: ['--label', label], env: { BELFRY_KEY: key } })
  const file = await aScript(server, [
    'env',
    'for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr "\\0" " " < "$f"; echo; done 2>/dev/null',
    'ls /proc | grep -c "^[0-9]"',
  ])

  const taskId = await aTask(server, { action: { type: 'exec', file }, labels: [label] })

  const { output, state } = await ended(server, taskId)
  expect(state).toBe('completed')
  expect(output.stdout).toContain('BELFRY_RUN_ID=')
  for (const hidden of [
    key,
    'BELFRY_ATTEMPT_TOKEN',
    'BELFRY_HOST_ID',
    'eyJ',
    new URL(server.url).host,
    'runner.js',
  ])
    expect(output.stdout).not.toContain(hidden)
  // Its own shell and what that has started, but nothing of the worker.
  expect(Number(output.stdout.trim().split('\n').at(-1))).toBeLessThan(6)
})

test('a file is fetched once, and again when the cache was damaged', { timeout: 120_000 }, async () => {
  const [label, cache] = [aLabel(), aCache()]
  await startWorker(server.url, { args: ['--label', label, '--file-cache-dir', cache] })
  const file = await aScript(server, ['echo genuine'])
  const task = { action: { type: 'exec', file }, labels: [label] }
  expect((await ended(server, await aTask(server, task))).output.stdout).toBe('genuine\n')
  const [name = ''] = readdirSync(cache)
  writeFileSync(join(cache, name), '#!/bin/sh\necho forged!\n')

  const run = await ended(server, await aTask(server, task))

  expect(run.output.stdout).toBe('genuine\n')
  expect(sha256(readFileSync(join(cache, name)))).toBe(name)
})

test('a command of the machine runs if its operator allows it', { timeout: 120_000 }, async () => {
  const label = aLabel()
  await startWorker(server.url, { args: ['--label', label, '--exec-commands', '/bin/echo'] })

  const taskId = await aTask(server, {
    action: { type: 'exec', command: '/bin/echo', args: ['hello'] },
    labels: [label],
  })

  expect((await ended(server, taskId)).output).toMatchObject({ exitCode: 0, stdout: 'hello\n' })
})

/** A program that says that it is there and stays. */
const LASTING = ['trap "echo stopped; exit 0" TERM', 'echo begun', 'while :; do sleep 0.2; done']

test('a cancelled program is stopped, and may clean up', { timeout: 120_000 }, async () => {
  const [label, cache] = [aLabel(), aCache()]
  await startWorker(server.url, { args: ['--label', label, '--file-cache-dir', cache] })
  const file = await aScript(server, LASTING)
  const mark = `mark-${label}`
  const taskId = await aTask(server, { action: { type: 'exec', file, args: [mark] }, labels: [label] })
  const { id } = await runWhen(server, taskId, ({ state }) => state === 'running')
  await eventually(async () => isRunning(mark))
  const besideCache = readdirSync(dirname(cache))

  await server.request('POST', `/v1/runs/${id}/cancel`, {})

  const run = await ended(server, taskId)
  // As root, programs are linked to where other users reach them.
  const isRoot = process.getuid?.() === 0
  expect(besideCache.some((name) => name.startsWith('belfry-programs-'))).toBe(isRoot)
  expect(run).toMatchObject({ state: 'cancelled', output: { stdout: 'begun\nstopped\n' } })
  expect(isRunning(mark)).toBe(false)
})

test('a program is stopped at the timeout of its task', { timeout: 120_000 }, async () => {
  const label = aLabel()
  await startWorker(server.url, { args: ['--label', label] })
  const file = await aScript(server, ['trap "" TERM', 'echo begun', 'while :; do sleep 0.2; done'])
  const mark = `mark-${label}`
  const action = { type: 'exec', file, args: [mark] }

  const taskId = await aTask(server, { action, labels: [label], timeout: '3s', retry: { limit: 0 } })

  const run = await ended(server, taskId)
  expect(run).toMatchObject({ state: 'permanently_failed', error: { code: 'timed_out' } })
  expect(isRunning(mark)).toBe(false)
})

test('a worker that is asked to stop lets its program finish, and exits', { timeout: 120_000 }, async () => {
  const label = aLabel()
  const worker = await startWorker(server.url, { args: ['--label', label] })
  const mark = `mark-${label}`
  const file = await aScript(server, ['sleep 3', 'echo done'])
  const taskId = await aTask(server, { action: { type: 'exec', file, args: [mark] }, labels: [label] })
  await eventually(async () => isRunning(mark))

  worker.kill('SIGTERM')

  expect(await worker.exited).toMatchObject({ code: 0 })
  expect(await ended(server, taskId)).toMatchObject({ state: 'completed', attempt: 1, losses: 0 })
})

/** Programs as tasks: uploaded, run by a whole node, logged, stopped and explained. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { aFile } from '../files/support.ts'
import { isRunning } from '../fleet/support.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const EXAMPLE = new URL('../../examples/folder-size.sh', import.meta.url)

/** For machines that do much else at the same time. */
const WITHIN = { withinMs: 60_000 }

describe.runIf(process.platform === 'linux')('a task that runs a program', { timeout: 120_000 }, async () => {
  await ensureBubblewrap()
  const database = await createTestDatabase()
  const node = await startTestNode(database, {
    exec: 'on',
    execCommands: '/bin/echo',
    execConcurrency: 2,
    execGraceMs: 500,
    execMaxMemoryBytes: 1024 ** 3,
    execMaxProcesses: 500,
    fileCacheDir: await scratchFolder(),
  })
  const script = (text: string) => aFile(node, Buffer.from(`#!/bin/sh\n${text}\n`), 'script.sh')
  const create = async (fields: object) => (await node.request('POST', '/v1/tasks', fields)).body
  const exec = async (text: string, more: object = {}) => ({
    type: 'exec',
    file: await script(text),
    ...more,
  })
  const latest = async (taskId: string) =>
    (await node.request('GET', `/v1/tasks/${taskId}/runs`)).body.items[0]
  const ended = (taskId: string) =>
    eventually(async () => {
      const run = await latest(taskId)
      return run?.endedAt ? (await node.request('GET', `/v1/runs/${run.id}`)).body : undefined
    }, WITHIN)
  const running = (taskId: string) =>
    eventually(async () => {
      const run = await latest(taskId)
      return run?.state === 'running' ? run : undefined
    }, WITHIN)
  const logOf = async (runId: string) =>
    (
      await database.db.run(
        sql<{ text: string }>`select text from run_log where run_id = ${runId} order by seq`,
      )
    )
      .map(({ text }) => text)
      .join('')

  test('completes with the output that the program names', async () => {
    const { id } = await create({ action: await exec(`echo working; echo '::output {"rows":17}'`) })

    expect(await ended(id)).toMatchObject({ state: 'completed', output: { rows: 17 }, error: null })
  })

  test('can be the example folder-size.sh', async () => {
    const action = { type: 'exec', file: await aFile(node, readFileSync(EXAMPLE), 'folder-size.sh') }
    const { id } = await create({ action: { ...action, args: ['/program'] } })
    const failing = await create({ action: { ...action, args: ['/home'], exitCodes: { fail: [2] } } })

    const run = await ended(id)

    expect(run).toMatchObject({
      state: 'completed',
      output: { files: 1, bytes: readFileSync(EXAMPLE).length },
    })
    expect(await logOf(run.id)).toMatch(`run ${run.id}, attempt 1, due at ${run.scheduledFor}\n`)
    expect(await ended(failing.id)).toMatchObject({
      state: 'permanently_failed',
      error: { message: 'The program ended with exit code 2: there is no folder /home in the sandbox' },
    })
  })

  test('receives its run id and secret, and the secret is redacted from log and output', async () => {
    await node.request('PUT', '/v1/secrets/EXEC_TOKEN', { value: 'correct-horse-battery' })
    const action = await exec('echo "$BELFRY_RUN_ID $BELFRY_ATTEMPT"; echo "token=$TOKEN"; cat >&2', {
      env: { TOKEN: '{{secret.EXEC_TOKEN}}' },
      stdin: { to: 'everybody' },
    })
    const { id } = await create({ action })

    const run = await ended(id)
    const log = await logOf(run.id)

    expect(run.state).toBe('completed')
    expect(run.output.stdout).toContain(`${run.id} 1\ntoken=`)
    expect(run.output.stderr).toContain('everybody')
    expect(JSON.stringify(run) + log).not.toContain('horse')
    expect(log).toContain('everybody')
  })

  test('retries an exit code, or fails permanently if the task says so', async () => {
    const retried = await create({
      action: await exec('[ "$BELFRY_ATTEMPT" = 2 ] || exit 5; echo second'),
      retry: { limit: 1, initial: '10ms', max: '10ms' },
    })
    const failing = await create({
      action: await exec('echo broken >&2; exit 4', { exitCodes: { fail: [4] } }),
    })

    expect(await ended(retried.id)).toMatchObject({ state: 'completed', attempt: 2 })
    expect(await ended(failing.id)).toMatchObject({
      state: 'permanently_failed',
      attempt: 1,
      error: { code: 'exit_code', message: 'The program ended with exit code 4: broken' },
    })
  })

  test('can run a command that the operator allows', async () => {
    const { id } = await create({ action: { type: 'exec', command: '/bin/echo', args: ['hello'] } })

    expect(await ended(id)).toMatchObject({ state: 'completed', output: { stdout: 'hello\n', exitCode: 0 } })
  })

  test('cannot exceed the limits of this server, when it is created or edited', async () => {
    const action = { type: 'exec', command: '/bin/echo' }
    const beyond = { ...action, limits: { memory: '1.5GiB', processes: 501, fileSize: '1MiB' } }
    const { id } = await create({ action, schedule: { type: 'manual' } })

    const refused = [
      await node.request('POST', '/v1/tasks', { action: beyond }),
      await node.request('PATCH', `/v1/tasks/${id}`, { action: beyond }),
    ]
    const elsewhere = await node.request('POST', '/v1/tasks', { action: beyond, labels: ['large'] })

    for (const { status, body } of refused)
      expect({ status, errors: body.errors }).toEqual({
        status: 422,
        errors: [
          {
            pointer: '/action/limits/memory',
            detail: 'is 1.5GiB, and this server allows at most 1GiB (--exec-max-memory-bytes)',
          },
          {
            pointer: '/action/limits/processes',
            detail: 'is 501, and this server allows at most 500 (--exec-max-processes)',
          },
        ],
      })
    expect(elsewhere.status).toBe(201)
  })

  test('keeps limits that exceed lowered maxima until its action is changed', async () => {
    const action = { type: 'exec', command: '/bin/echo', limits: { memory: '4GiB' } }
    const { id } = await create({ action, labels: ['large'], schedule: { type: 'manual' } })

    const renamed = await node.request('PATCH', `/v1/tasks/${id}`, { name: 'large', labels: [] })
    const { id: runId } = (await node.request('POST', `/v1/tasks/${id}/trigger`, {})).body

    expect(renamed.status).toBe(200)
    expect(await ended(id)).toMatchObject({ id: runId, state: 'completed' })
    expect(await logOf(runId)).toContain('lowers limits of the task: memory 4GiB to 1GiB')
  })

  test('waits if no worker offers its command, and why explains it', async () => {
    const { id } = await create({ action: { type: 'exec', command: '/opt/nobody/has-this' } })

    const why = await eventually(async () => {
      const { body } = await node.request('GET', `/v1/tasks/${id}/why`)
      return body.code === 'no_capable_worker' ? body : undefined
    }, WITHIN)

    expect(why.sentence).toContain('the command /opt/nobody/has-this')
    expect(why.advice).toContain('--exec-commands /opt/nobody/has-this')
    expect(await latest(id)).toMatchObject({ state: 'pending', attempt: 0 })
  })

  test('is stopped at its timeout, with its program', async () => {
    const mark = 'mark-of-a-program-that-takes-too-long'
    const { id } = await create({
      action: await exec('trap "" TERM; while :; do sleep 0.1; done', { args: [mark] }),
      timeout: '300ms',
      retry: { limit: 0 },
    })

    const { state, error, output } = await ended(id)
    expect([state, error.code]).toEqual(['permanently_failed', 'timed_out'])
    // On a busy machine it may not have been started by then.
    expect([undefined, 'SIGKILL']).toContain(output?.signal)
    expect(isRunning(mark)).toBe(false)
  })

  test('has a timeout of 20 minutes by default', async () => {
    const { id, timeout } = await create({ action: await exec('exit 0'), schedule: { type: 'manual' } })

    expect(id).toBeTruthy()
    expect(timeout).toBe('20m')
  })

  test('can be cancelled while it runs', async () => {
    const { id } = await create({
      action: await exec('trap "echo cleaning up; exit 0" TERM; echo ready; while :; do sleep 0.05; done'),
    })
    const run = await running(id)
    await eventually(async () => (await logOf(run.id)).includes('ready') || undefined, WITHIN)

    await node.request('POST', `/v1/runs/${run.id}/cancel`)

    expect(await ended(id)).toMatchObject({ state: 'cancelled', output: { stdout: 'ready\ncleaning up\n' } })
  })

  test('starts as soon as its file has been uploaded', async () => {
    const { body: file } = await node.request('POST', '/v1/files', { name: 'late.sh' })
    const { id } = await create({ action: { type: 'exec', file: file.id } })

    await fetch(file.uploadUrl, { method: 'PUT', body: '#!/bin/sh\necho late\n' })

    expect(await ended(id)).toMatchObject({ state: 'completed', output: { stdout: 'late\n' } })
  })

  test('uses few separate slots, and other tasks do not wait for them', async () => {
    const slow = await Promise.all(
      [1, 2, 3].map(async () => create({ action: await exec('while :; do sleep 0.1; done') })),
    )
    await eventually(async () => {
      const states = await Promise.all(slow.map(async ({ id }) => (await latest(id))?.state))
      return states.sort().join(' ') === 'pending running running' || undefined
    }, WITHIN)

    const nap = await create({ action: { type: 'sleep', duration: '0s' } })

    expect(await ended(nap.id)).toMatchObject({ state: 'completed' })
    for (const { id } of slow) await node.request('POST', `/v1/tasks/${id}/cancel`)
    for (const { id } of slow) expect(await ended(id)).toMatchObject({ state: 'cancelled' })
  })
})

const SHARED_MEMORY = '/dev/shm'
const isOtherFileSystem = () =>
  existsSync(SHARED_MEMORY) && statSync(SHARED_MEMORY).dev !== statSync(tmpdir()).dev

test.runIf(process.getuid?.() === 0 && isOtherFileSystem())(
  'root does not copy programs, even if the cache is on a different file system',
  async () => {
    await ensureBubblewrap()
    const folder = mkdtempSync(join(SHARED_MEMORY, 'belfry-test-'))
    whenDone(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o711)
    const fileCacheDir = join(folder, 'cache', 'files')
    const node = await startTestNode(await createTestDatabase(), { exec: 'on', fileCacheDir })
    const file = await aFile(node, Buffer.from('#!/bin/sh\nstat -c %h "$0"\n'))
    const { id } = (await node.request('POST', '/v1/tasks', { action: { type: 'exec', file } })).body

    const run = await eventually(async () => {
      const [latest] = (await node.request('GET', `/v1/tasks/${id}/runs`)).body.items
      return latest?.endedAt ? latest : undefined
    }, WITHIN)

    // One name in the cache, and one for the program.
    expect(run).toMatchObject({ state: 'completed', output: { stdout: '2\n' } })
  },
)

test('a node with programs turned off claims no exec runs', async () => {
  const database = await createTestDatabase()
  const node = await startTestNode(database, { exec: 'off', execCommands: '/bin/echo' })
  const task = { action: { type: 'exec', command: '/bin/echo' } }
  const { id } = (await node.request('POST', '/v1/tasks', task)).body

  const why = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${id}/why`)
    return body.code === 'no_capable_worker' ? body : undefined
  }, WITHIN)

  expect(node.programs).toMatchObject({ canRun: false, text: 'off (--exec off)' })
  expect(why.advice).toContain('--exec on')
})

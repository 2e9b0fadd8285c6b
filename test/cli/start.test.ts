import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { shownPath } from '../../src/cli/database.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, embeddedPostmaster, launch, runBelfry, startBelfry } from '../support/process.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534

test('the first start creates the data directory, and a later start uses it', async () => {
  const dataDir = join(aDirectory(), 'data')
  const first = await startBelfry(['--data-dir', dataDir])
  const { stdout } = first
  expect((await first.request('GET', '/readyz')).status).toBe(200)
  const { body: server } = await first.request('GET', '/v1/server')
  const secret = await first.request('PUT', '/v1/secrets/TOKEN', { value: 'a value' })
  first.kill('SIGTERM')
  expect(await first.exited).toMatchObject({ code: 0 })

  const second = await startBelfry(['--data-dir', dataDir])

  expect(stdout).toMatch(/✓ database {3}embedded PostgreSQL \d+\.\d+ in .*data \(new\)/)
  expect(stdout).toMatch(/✓ schema {5}\d+ migrations applied/)
  expect(stdout).toMatch(/Dashboard {2}http:\/\/127\.0\.0\.1:\d+\n/)
  expect(stdout).toMatch(/API docs {3}http:\/\/127\.0\.0\.1:\d+\/docs/)
  expect(stdout).toContain(`Data       ${dataDir}`)
  expect(server).toMatchObject({
    database: { isEmbedded: true, version: expect.stringMatching(/^\d+\.\d+$/), place: shownPath(dataDir) },
    isLoopbackOnly: true,
  })
  expect(stdout).toContain('curl -X POST http://127.0.0.1:')
  expect(second.stdout).toMatch(/✓ schema {5}up to date/)
  expect(secret.status).toBe(201)
  expect(statSync(join(dataDir, 'secrets.key')).mode & 0o777).toBe(0o600)
  expect((await second.request('GET', '/v1/nodes')).body.items[0].secrets).toBe('ready')
  process.stdout.write(`  first start ${first.readyMs} ms, warm start ${second.readyMs} ms\n`)
  // Ten seconds on a quiet machine; tests share theirs.
  expect(first.readyMs).toBeLessThan(60_000)
})

describe('a running Belfry', async () => {
  const dataDir = join(aDirectory(), 'data')
  const belfry = await startBelfry(['--data-dir', dataDir, '--log-level', 'debug'])

  test('writes its progress to stdout and JSON logs to stderr', async () => {
    await belfry.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1ms' } })
    await belfry.said(/attempt completed/, 'stderr')

    expect(belfry.stdout).not.toContain('{"level"')
    for (const line of belfry.stderr.trimEnd().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), time: expect.any(String) })
  })

  test('logs failures with node, task, run and trace', async () => {
    const { body: task } = await belfry.request('POST', '/v1/tasks', {
      action: { type: 'webhook', url: 'http://127.0.0.1:1/' },
      retry: { limit: 0 },
    })
    await belfry.said(/attempt failed/, 'stderr')

    expect(belfry.log.find(({ msg }) => msg === 'attempt failed')).toMatchObject({
      node: expect.stringMatching(/^[0-9a-f-]{36}$/),
      task: task.id,
      run: expect.stringMatching(/^[0-9a-f-]{36}$/),
      trace: expect.stringMatching(/[0-9a-f]{32}/),
    })
  })

  test('is reported by a second start on the same data, with exit code 0', async () => {
    const { code, stdout, stderr } = await runBelfry(['start', '--data-dir', dataDir])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Already running (pid ${belfry.pid}, ${belfry.url}).`)
    expect((await belfry.request('GET', '/healthz')).status).toBe(200)
  })

  test('is named by another start on the same port', async () => {
    const other = join(aDirectory(), 'data')
    const { port } = new URL(belfry.url)
    const { code, stdout, stderr } = await runBelfry(['start', '--data-dir', other, '--port', port])

    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toContain(`Port ${port} is in use by node (pid ${belfry.pid}).`)
    expect(stderr).toContain('try:   Use --port 0')
    expect(existsSync(other)).toBe(false)
  })
})

test('an error about a port in use names the process that uses it', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo

  const { code, stderr } = await runBelfry(['start', '--data-dir', aDirectory(), '--port', String(port)])

  expect(code).toBe(5)
  expect(stderr).toContain(`(pid ${process.pid})`)
})

describe('an unusable data directory is refused', () => {
  const startIn = (dataDir: string, uid?: number) =>
    runBelfry(['start', '--port', '0', '--data-dir', dataDir], uid === undefined ? {} : { uid })

  test('if a file is in the way', async () => {
    const file = join(aDirectory(), 'file')
    writeFileSync(file, '')

    for (const dataDir of [file, join(file, 'below')]) {
      const { code, stderr } = await startIn(dataDir)
      expect(code).toBe(1)
      expect(stderr).toBe(
        `error: Cannot write ${file}: a file is in the way of the directory.\ntry:   Use --data-dir DIR.\n`,
      )
    }
  })

  test('if the user may not write there', async () => {
    const dataDir = aDirectory()
    chmodSync(dataDir, 0o555)

    const { code, stderr } = await startIn(dataDir, isRoot ? NOBODY : undefined)

    expect(code).toBe(1)
    expect(stderr).toBe(`error: Cannot write ${dataDir}: permission denied.\ntry:   Use --data-dir DIR.\n`)
  })

  test.runIf(isRoot)('if the user that the database runs as cannot reach it', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'belfry-closed-'))
    onTestFinished(() => rmSync(closed, { recursive: true }))
    mkdirSync(join(closed, 'below'))

    const { code, stderr } = await startIn(join(closed, 'below', 'data'))

    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: As root, Belfry runs the database as user '\w+', who cannot reach /)
    expect(stderr).toContain(`try:   Use --data-dir with another directory such as /var/lib/belfry`)
    expect(stderr.trimEnd().split('\n')).toHaveLength(2)
    expect(statSync(closed).mode & 0o777).toBe(0o700)
  })
})

describe('signals', () => {
  const dataDir = join(aDirectory(), 'data')

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s stops the node and its database with exit code 0',
    async (signal) => {
      const belfry = await startBelfry(['--data-dir', dataDir])

      belfry.kill(signal)
      const exit = await belfry.exited

      expect(exit).toMatchObject({ code: 0, signal: null })
      expect(exit.stdout).toContain(
        'Stopping: runs in progress have 30 s to finish. Press Ctrl-C again to stop immediately.',
      )
      expect(exit.stdout).toMatch(/Stopped\.\n$/)
      expect(belfry.log.at(-1)).toMatchObject({ msg: 'stopped', node: expect.any(String) })
      expect(embeddedPostmaster(dataDir)).toBeNull()
    },
  )

  test('the first Ctrl-C waits for runs in progress, even if npm repeats it; the second does not', async () => {
    const belfry = await startBelfry(['--data-dir', dataDir])
    const { body: task } = await belfry.request('POST', '/v1/tasks', {
      action: { type: 'sleep', duration: '10m' },
    })
    await eventually(
      async () => (await belfry.request('GET', `/v1/tasks/${task.id}`)).body.state === 'running',
    )

    belfry.kill('SIGINT')
    belfry.kill('SIGINT')
    await belfry.said(/Stopping/)
    let ended = false
    void belfry.exited.then(() => {
      ended = true
    })
    let sent = 0
    await eventually(
      async () => {
        if (!ended) sent += 1
        belfry.kill('SIGINT')
        return ended
      },
      { everyMs: 100 },
    )

    expect(await belfry.exited).toMatchObject({ code: 130, signal: null })
    expect(sent).toBeGreaterThan(2)
    expect(embeddedPostmaster(dataDir)).toBeNull()
  })

  test('a signal during the start leaves no database running', async () => {
    const dataDir = join(aDirectory(), 'data')
    const starting = launch(['start', '--port', '0', '--data-dir', dataDir])
    await starting.said(/✓ node/)

    starting.kill('SIGINT')

    expect(await starting.exited).toMatchObject({ code: 130, signal: null })
    expect(starting.stdout).not.toContain('Ready')
    expect(embeddedPostmaster(dataDir)).toBeNull()
  })
})

test('the node stops normally after stdout and stderr are closed', async () => {
  const belfry = await startBelfry(['--data-dir', join(aDirectory(), 'data')])

  belfry.child.stdout?.destroy()
  belfry.child.stderr?.destroy()
  belfry.kill('SIGTERM')

  expect(await belfry.exited).toMatchObject({ code: 0, signal: null })
})

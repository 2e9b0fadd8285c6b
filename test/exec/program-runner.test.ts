/** Real programs in the real sandbox, run as attempts are. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ExecAction } from '../../src/core/action/action.ts'
import type { Outcome } from '../../src/core/run/outcome.ts'
import { Redactor } from '../../src/core/secret/redactor.ts'
import type { ProgramFile } from '../../src/programs/program-runner.ts'
import { whenDone } from '../support/cleanup.ts'
import { anAttempt, aProgram, aRunner, sh, type TestAttempt } from './support.ts'

describe.runIf(process.platform === 'linux')('a program', async () => {
  const runner = await aRunner({ commands: ['/bin/*'] })

  /** Runs a file as a program. */
  const run = (
    file: ProgramFile,
    action: Partial<ExecAction> = {},
    attempt: TestAttempt = anAttempt(),
    more: ReadonlyMap<string, ProgramFile> = new Map(),
  ): Promise<Outcome> =>
    runner.run({ type: 'exec', file: 'f', ...action }, new Map([['f', file], ...more]), attempt)

  test('receives its arguments, environment, input and files, and its output is returned', async () => {
    const attempt = anAttempt()
    const script = 'echo "$1 $REGION"; cat; cat data/in.csv conf.ini; ./tool; echo done >&2'
    const files = [
      { path: 'data/in.csv', file: 'data' },
      { path: 'tool', file: 'tool' },
      { path: 'conf.ini', content: 'a=1\n' },
    ]

    const outcome = await run(
      sh(script),
      { args: ['hello'], env: { REGION: 'eu' }, stdin: { n: 1 }, files },
      attempt,
      new Map([
        ['data', { ...aProgram('1;2\n'), isExecutable: false }],
        ['tool', sh('echo tool')],
      ]),
    )

    const stdout = 'hello eu\n{"n":1}1;2\na=1\ntool\n'
    expect(outcome).toEqual({
      kind: 'completed',
      output: { exitCode: 0, signal: null, stdout, stderr: 'done\n', truncated: false },
    })
    expect(attempt.written).toEqual({ stdout, stderr: 'done\n' })
  })

  test('receives the ids of its run and task as variables', async () => {
    const { output } = (await run(sh('env | grep -E "^(BELFRY_|TRACEPARENT)" | sort'))) as { output: unknown }

    expect((output as { stdout: string }).stdout.trim().split('\n')).toEqual([
      'BELFRY_ATTEMPT=2',
      'BELFRY_FENCE=7',
      'BELFRY_RUN_ID=01900000-0000-7000-8000-000000000001',
      'BELFRY_SCHEDULED_FOR=2026-11-16T09:00:00.000Z',
      'BELFRY_TASK_ID=01900000-0000-7000-8000-000000000002',
      'BELFRY_TRACING_ID=order-17',
      'TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    ])
  })

  // Where Node.js is not part of the system, programs do not see it.
  test.runIf(process.execPath.startsWith('/usr/'))(
    'may be a script of Node.js, and its last line is its output',
    async () => {
      const script = `console.log('x'); console.log('::output ' + JSON.stringify({ sum: 1 + 2 }))`

      const outcome = await run(aProgram(`#!${process.execPath}\n${script}\n`), {
        limits: { memory: '512MiB' },
      })

      expect(outcome).toEqual({ kind: 'completed', output: { sum: 3 } })
    },
  )

  test.each([
    [
      'exit 3',
      undefined,
      { kind: 'failed', retryable: true, error: { code: 'exit_code', detail: { exitCode: 3 } } },
    ],
    ['exit 3', { complete: [3] }, { kind: 'completed' }],
    ['exit 3', { fail: [3] }, { kind: 'failed', retryable: false, error: { code: 'exit_code' } }],
    ['exit 0', { retry: [0] }, { kind: 'failed', retryable: true }],
    [
      'kill -SEGV $$',
      undefined,
      { kind: 'failed', retryable: true, error: { code: 'killed_by_signal', detail: { signal: 'SIGSEGV' } } },
    ],
  ])('the outcome of %s follows exit codes %j', async (script, exitCodes, expected) => {
    expect(await run(sh(script), exitCodes ? { exitCodes } : {})).toMatchObject(expected)
  })

  test('that exceeds its memory limit fails as out_of_memory', async () => {
    const hungry = sh('a=x; while :; do a="$a$a$a$a"; done')

    expect(await run(hungry, { limits: { memory: '16MiB' } })).toMatchObject({
      kind: 'failed',
      retryable: true,
      error: { code: 'out_of_memory', message: 'The program used more than 16MiB of memory.' },
    })
  })

  test('gets no more than the worker allows, and the log says so', async () => {
    const attempt = anAttempt()
    const limits = { memory: '100GiB', cpus: 1 }
    const outcome = await run(sh('a=x; while :; do a="$a$a$a$a"; done'), { limits }, attempt)

    expect(outcome).toMatchObject({
      error: { code: 'out_of_memory', message: expect.stringContaining('512MiB') },
    })
    expect(attempt.said).toEqual([
      'This worker lowers limits of the task: memory 100GiB to 512MiB (--exec-max-memory-bytes).',
    ])
  })

  test('that writes without end is stopped, and its output is truncated', async () => {
    const outcome = await run(sh('while :; do echo 0123456789012345678901234567890123456789; done'))

    expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'too_much_output' } })
    expect((outcome as { output: { stdout: string; truncated: boolean } }).output).toMatchObject({
      truncated: true,
    })
  })

  test('has no network unless the task asks for it', async () => {
    const script = sh('cat /proc/net/dev | grep -vc "lo:"')

    const without = (await run(script)) as { output: { stdout: string } }
    const withIt = (await run(script, { network: true })) as { output: { stdout: string } }

    expect(Number(without.output.stdout)).toBe(2)
    expect(Number(withIt.output.stdout)).toBeGreaterThanOrEqual(2)
  })

  test('is asked to end when its attempt is stopped, and its output is returned', async () => {
    const controller = new AbortController()
    const attempt = anAttempt({ signal: controller.signal })
    const script = sh('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done')
    const log = {
      ...attempt.log,
      write: (stream: 'stdout' | 'stderr', chunk: Buffer) => {
        attempt.log.write(stream, chunk)
        if (chunk.includes('ready')) controller.abort()
      },
    }

    const outcome = await run(script, {}, { ...attempt, log })

    expect(outcome).toMatchObject({ error: { code: 'worker_stopped' }, output: { stdout: 'ready\nbye\n' } })
  })

  test.each([
    ['does not listen', false, { error: { code: 'worker_stopped' }, output: { signal: 'SIGKILL' } }],
    ['has no time left, because the run may be elsewhere', true, { kind: 'lease_lost' }],
  ])('is killed when it %s', async (_, isLost, expected) => {
    const controller = new AbortController()
    const attempt = anAttempt({ signal: controller.signal, isLost: () => isLost })
    const script = sh('trap "echo heard" TERM; echo ready; while :; do sleep 0.05; done')
    const log = {
      ...attempt.log,
      write: (stream: 'stdout' | 'stderr', chunk: Buffer) => {
        attempt.log.write(stream, chunk)
        if (chunk.includes('ready')) controller.abort()
      },
    }

    const outcome = await run(script, {}, { ...attempt, log })

    expect(outcome).toMatchObject(expected)
    expect(attempt.written.stdout.includes('heard')).toBe(!isLost)
  })

  test('does not start when its attempt was stopped while its files were fetched', async () => {
    const controller = new AbortController()
    const slow = {
      ...sh('echo ran'),
      async *read() {
        controller.abort()
        yield Buffer.from('never all of it')
      },
    }

    expect(await run(slow, {}, anAttempt({ signal: controller.signal }))).toMatchObject({
      error: { code: 'worker_stopped', message: expect.stringContaining('before it was started') },
    })
  })

  test('has secrets redacted from its output, even where truncation splits one', async () => {
    const secret = 'correct-horse-battery-staple'
    const redactor = new Redactor(new Map([['PASSWORD', secret]]))
    const script = sh(
      'i=0; while [ $i -lt 2000 ]; do printf "%s" "$PASSWORD"; i=$((i+1)); done; echo "$PASSWORD" >&2',
    )

    const outcome = await run(script, { env: { PASSWORD: secret } }, anAttempt({ redactor }))

    const text = JSON.stringify(outcome)
    expect(text).not.toContain('horse')
    expect(text).not.toContain('staple')
    expect(text).toContain('PASSWORD')
  })

  test('that is not a program, or is for another architecture, fails permanently', async () => {
    const other = process.arch === 'x64' ? 'arm64' : 'x64'

    expect(await run(aProgram('just text'))).toMatchObject({
      retryable: false,
      error: { code: 'not_executable' },
    })
    expect(await run({ ...sh('exit 0'), architecture: other })).toMatchObject({
      retryable: false,
      error: { code: 'wrong_architecture', message: expect.stringContaining(other) },
    })
  })

  test('with damaged or missing content can be retried', async () => {
    const damaged = { ...sh('exit 0'), sha256: '0'.repeat(64) }
    const gone = {
      ...sh('exit 1'),
      async *read() {
        yield Buffer.from('#!')
        throw new Error('the content is gone')
      },
    }

    expect(await run(damaged)).toMatchObject({ retryable: true, error: { code: 'file_damaged' } })
    expect(await run(gone)).toMatchObject({ retryable: true, error: { code: 'file_unavailable' } })
  })

  test('that is a command must be allowed and must exist', async () => {
    const command = (path: string) =>
      runner.run({ type: 'exec', command: path, args: ['a'] }, new Map(), anAttempt())

    expect(await command('/bin/echo')).toMatchObject({ kind: 'completed', output: { stdout: 'a\n' } })
    expect(await command('/usr/bin/env')).toMatchObject({
      retryable: true,
      error: { code: 'command_not_allowed' },
    })
    expect(await command('/bin/no-such-command')).toMatchObject({
      retryable: true,
      error: { code: 'program_missing' },
    })
  })

  test('that needs the network fails if the worker does not allow it', async () => {
    const alone = await aRunner({ commands: ['/bin/echo'], allowsNetwork: false })
    const echo = (network: boolean) =>
      alone.run({ type: 'exec', command: '/bin/echo', network }, new Map(), anAttempt())

    expect(await echo(false)).toMatchObject({ kind: 'completed' })
    expect(await echo(true)).toMatchObject({ retryable: true, error: { code: 'network_not_allowed' } })
  })

  test('that is a command can use the shared folders of the worker, and an uploaded program cannot', async () => {
    const folder = await mkdtemp('/var/tmp/belfry-test-')
    whenDone(() => rm(folder, { recursive: true, force: true }))
    for (const [name, mode] of [
      ['in', 0o755],
      ['out', 0o777],
    ] as const) {
      await mkdir(join(folder, name))
      await chmod(join(folder, name), mode)
    }
    await chmod(folder, 0o755)
    await writeFile(join(folder, 'in', 'data'), 'data\n', { mode: 0o644 })
    const shared = await aRunner({
      commands: ['/bin/sh'],
      readable: [join(folder, 'in')],
      writable: [join(folder, 'out')],
    })
    const script = `cat ${folder}/in/data; echo x > ${folder}/in/new; echo y > ${folder}/out/new && echo written`
    const command = { type: 'exec', command: '/bin/sh', args: ['-c', script] } as const

    const ofCommand = await shared.run(command, new Map(), anAttempt())
    const ofFile = await shared.run({ type: 'exec', file: 'f' }, new Map([['f', sh(script)]]), anAttempt())

    expect(ofCommand).toMatchObject({ kind: 'completed', output: { stdout: 'data\nwritten\n' } })
    expect(ofFile).toMatchObject({ kind: 'failed', output: { stdout: '' } })
    expect(await readdir(join(folder, 'in'))).toEqual(['data'])
    expect(await readFile(join(folder, 'out', 'new'), 'utf8')).toBe('y\n')
  })
})

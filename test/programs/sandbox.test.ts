/** What a program in the sandbox sees, is given, and how it ends. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { whenDone } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'
import {
  aFolder,
  attemptsOnDisk,
  type ProgramWorker,
  processesWith,
  startWorker,
  USERS,
} from './support/grounds.ts'

/** Waits until it listens, and closes it when the test has ended. */
async function listening(server: Server, options: ListenOptions): Promise<void> {
  await new Promise<void>((resolve) => server.listen(options, resolve))
  whenDone(() => server.close())
}

describe.runIf(process.platform === 'linux').each(USERS)('a program of $user', ({ uid }) => {
  let worker: ProgramWorker
  beforeAll(async () => {
    worker = await startWorker(uid)
  })

  test('receives its arguments, environment and input, and returns its output and exit code', async () => {
    const { end, stdout, stderr } = await worker.run({
      sh: 'echo "$#: $1, $2"; echo "$GREETING" >&2; cat; exit 7',
      args: ['a b', '$(id)'],
      env: { GREETING: "it's `me`\nand $you" },
      stdin: 'line\n',
    })

    expect(end).toMatchObject({ cause: 'exited', exitCode: 7, signal: null, message: null })
    expect(stdout.toString()).toBe('2: a b, $(id)\nline\n')
    expect(stderr.toString()).toBe("it's `me`\nand $you\n")
  })

  test('has a few variables, an empty input and a work directory', async () => {
    const { stdout } = await worker.run({ sh: 'env | sort; pwd; ls -A; wc -c; id -un; hostname' })

    expect(
      stdout
        .toString()
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      'HOME=/tmp/work',
      'LANG=C.UTF-8',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'PWD=/tmp/work',
      'TMPDIR=/tmp',
      'USER=program',
      '/tmp/work',
      '0',
      'program',
      'belfry',
    ])
  })

  test('is reported with the signal that ended it', async () => {
    const { end } = await worker.run({ sh: 'kill -USR1 $$' })

    expect(end).toMatchObject({ cause: 'exited', exitCode: 138, signal: 'SIGUSR1' })
  })

  test('can open its input and output again by name', async () => {
    const { end, stdout, stderr } = await worker.run({
      sh: 'cat /dev/stdin > /dev/stdout && echo no > /dev/stderr && echo yes >> /proc/self/fd/1',
      stdin: 'again\n',
    })

    expect(end.exitCode).toBe(0)
    expect(stdout.toString()).toBe('again\nyes\n')
    expect(stderr.toString()).toBe('no\n')
  })

  test('finds its files in the work directory and cannot change them', async () => {
    const source = join(aFolder(), 'source')
    writeFileSync(source, '#!/bin/sh\necho ran\n')
    const files = [
      { path: 'data/in.txt', source, executable: false },
      { path: 'tool', source, executable: true },
    ]

    const { stdout, stderr } = await worker.run({
      sh: 'find . -type f | sort; ./tool; echo more >> data/in.txt; rm -f tool; ./data/in.txt; touch data/own && echo made',
      files,
    })

    expect(stdout.toString()).toBe('./data/in.txt\n./tool\nran\nmade\n')
    expect(stderr.toString()).toMatch(
      /data\/in.txt: (Read-only file system|Permission denied)[\s\S]*busy[\s\S]*data\/in.txt: Permission denied/,
    )
    expect(readFileSync(source, 'utf8')).toBe('#!/bin/sh\necho ran\n')
  })

  test('can be a command of the machine, in any directory', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'belfry-commands-'))
    whenDone(() => rmSync(folder, { recursive: true }))
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'command'), '#!/bin/sh\necho "$0 $1"\n', { mode: 0o755 })
    const executable = join(folder, 'command')

    const own = await worker.runCommand(executable, ['x'])
    const ofSystem = await worker.runCommand('/bin/echo', ['hello'])

    expect(own.stdout.toString()).toBe(`${executable} x\n`)
    expect(ofSystem.stdout.toString()).toBe('hello\n')
  })

  test('reaches the network of the machine only if it asks for it', async () => {
    const server = createServer((_, response) => response.end('reached'))
    await listening(server, { host: '127.0.0.1', port: 0 })
    const { port } = server.address() as AddressInfo
    const node = `require('http').get('http://127.0.0.1:${port}', (r) => r.pipe(process.stdout)).on('error', (e) => console.log(e.code))`

    const without = await worker.run({ node })
    const withNetwork = await worker.run({ node, network: true })

    expect(without.stdout.toString()).toBe('ECONNREFUSED\n')
    expect(withNetwork.stdout.toString()).toBe('reached')
  })

  test('with network access reaches every port of the machine, but not its files and processes', async () => {
    const hidden = join(aFolder(), 'socket')
    const [any, own, named, abstract] = [createServer(), createServer(), createServer(), createServer()]
    await listening(any, { host: '::', port: 0 })
    await listening(own, { host: '127.0.0.2', port: 0 })
    await listening(named, { path: hidden })
    await listening(abstract, { path: `\0${hidden}` })
    chmodSync(hidden, 0o777)
    const portOf = (server: Server) => (server.address() as AddressInfo).port
    const [address] = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
    const targets = {
      loopback: { host: '127.0.0.1', port: portOf(any) },
      named: { host: 'localhost', port: portOf(any) },
      other: { host: '127.0.0.2', port: portOf(own) },
      machine: { host: address?.address ?? '127.0.0.1', port: portOf(any) },
      socket: { path: hidden },
      abstract: { path: `\0${hidden}` },
    }
    const node = `
      for (const [name, to] of Object.entries(${JSON.stringify(targets)})) {
        const socket = require('net').connect(to, () => { console.log(name, 'connected'); socket.destroy() })
        socket.on('error', ({ code }) => console.log(name, code))
      }
      const { readdirSync, existsSync } = require('fs')
      console.log('processes', readdirSync('/proc').filter((name) => Number(name)).length)
      console.log('files', ['/etc/shadow', '/root', '/home', '/var', '/run', ${JSON.stringify(worker.directory)}].filter(existsSync))`

    const { stdout } = await worker.run({ node, network: true })

    expect(stdout.toString().trim().split('\n').sort()).toEqual([
      'abstract connected',
      'files []',
      'loopback connected',
      'machine connected',
      'named connected',
      'other connected',
      'processes 2',
      'socket ENOENT',
    ])
  })

  test('receives SIGTERM when it is stopped, and may finish its work', async () => {
    const running = worker.start({
      sh: 'trap "echo tidied; exit 3" TERM; echo up; while :; do sleep 0.05; done',
    })
    await running.said('up')

    running.stop()

    const { end, stdout } = await running.outcome
    expect(end).toMatchObject({ cause: 'stopped', exitCode: 3, message: 'The program was stopped.' })
    expect(stdout.toString()).toBe('up\ntidied\n')
  })

  test('that is stopped before it starts never runs', async () => {
    const running = worker.start({ sh: 'echo ran' })
    running.stop()

    const { end, stdout } = await running.outcome

    expect(end.cause).toBe('stopped')
    expect(stdout.toString()).toBe('')
  })

  test('is ended at its timeout, with all processes that it started', async () => {
    const mark = `mark-${process.pid}-${uid}`

    const { end } = await worker.run({
      sh: 'sleep 1000 & setsid sleep 1000 & (trap "" TERM; sleep 1000) & sleep 1000',
      env: { MARK: mark },
      ...{ timeoutMs: 1_000, graceMs: 300 },
    })

    expect(end).toMatchObject({ cause: 'timed_out', message: 'The program ran longer than 1000 ms.' })
    expect(end.durationMs).toBeGreaterThanOrEqual(1_000)
    expect(processesWith(mark)).toEqual([])
  })

  test('leaves no process behind when it ends', async () => {
    const mark = `left-${process.pid}-${uid}`

    const { end, stdout } = await worker.run({
      sh: '(setsid sh -c "trap \\"\\" TERM HUP; exec >/dev/null 2>&1 </dev/null; sleep 1000" &) ; sleep 0.1; echo over',
      env: { MARK: mark },
    })

    expect(end).toMatchObject({ cause: 'exited', exitCode: 0 })
    expect(stdout.toString()).toBe('over\n')
    expect(processesWith(mark)).toEqual([])
  })

  test('waits while its output is not read, and loses none of it', async () => {
    const written = () => Number(/(\d+)\n$/.exec(running.stderr)?.[1] ?? 0)
    const running = worker.start(
      {
        node: `const fs = require('fs'); const part = Buffer.alloc(16384, 'x')
          for (let n = 1; n <= 128; n++) { fs.writeSync(1, part); fs.writeSync(2, n + '\\n') }`,
      },
      { isSlow: true },
    )
    await eventually(async () => {
      const before = written()
      await delay(100)
      return before > 0 && written() === before
    })

    const waitedAt = written()
    running.goOn()

    const { end, stdout } = await running.outcome
    // A pipe holds 64 KiB, and as much is on its way.
    expect(waitedAt * 16_384).toBeLessThan(400_000)
    expect(end.exitCode).toBe(0)
    expect(stdout.length).toBe(2 * 1_024 ** 2)
  })

  test('runs beside others in a separate directory', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        worker.run({ sh: `echo ${i} > mine; sleep 0.2; cat mine; ls /tmp` }),
      ),
    )

    expect(outcomes.map(({ stdout }) => stdout.toString())).toEqual(
      Array.from({ length: 8 }, (_, i) => `${i}\nwork\n`),
    )
    expect(attemptsOnDisk(worker.directory)).toEqual([])
  })

  test('leaves nothing on disk when its worker closes', async () => {
    const own = await startWorker(uid)
    await own.run({ sh: 'echo x > file' })

    await own.close()

    expect(readdirSync(own.directory)).toEqual(['open-file'])
  })
})

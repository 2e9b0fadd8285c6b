/** Programs that do not start as they should, or do not want to end. */
import { expect } from 'vitest'
import { type Architecture, callingProgram } from '../support/machine-code.ts'
import { type Hostile, lines } from './hostile.ts'

const ARCH = process.arch as Architecture
const OTHER: Architecture = ARCH === 'x64' ? 'arm64' : 'x64'
const exiting = (arch: Architecture) => callingProgram(arch, [])

/** Refused before anything is started. */
const neverStarted = (attempt: string, bytes: Buffer | string, message: RegExp): Hostile => ({
  attempt,
  program: { bytes: Buffer.from(bytes) },
  expect: ({ end, stdout, stderr }) => {
    expect(end).toMatchObject({
      cause: 'not_executable',
      exitCode: null,
      message: expect.stringMatching(message),
    })
    expect(`${stdout}${stderr}`).toBe('')
  },
})

export const ENDS: readonly Hostile[] = [
  neverStarted('is empty', '', /The file is empty/),
  neverStarted('is a text that a shell would execute', 'touch /tmp/harm\n', /first line begins with #!/),
  neverStarted('is the beginning of a program', exiting(ARCH).subarray(0, 100), /truncated/),
  neverStarted('is a program without its end', exiting(ARCH).subarray(0, -8), /truncated/),
  neverStarted('is a program for another processor', exiting(OTHER), new RegExp(`built for ${OTHER}`)),
  neverStarted('is a program for Windows', 'MZ\x90\0', /a Windows program/),
  neverStarted('is a script from Windows', '#!/bin/sh\r\necho harm\r\n', /carriage return/),
  neverStarted('is a script without an interpreter', '#!\n', /interpreter/),
  {
    attempt: 'needs an interpreter that is not there',
    program: { bytes: Buffer.from('#!/usr/bin/no-such-thing\n') },
    expect: ({ end }) =>
      expect(end).toMatchObject({
        cause: 'spawn_failed',
        message: expect.stringMatching(/no-such-thing, is not on this machine/),
      }),
  },
  {
    attempt: 'has longer arguments than a process can have',
    program: { sh: 'echo harm', args: Array(11).fill('x'.repeat(100_000)) },
    expect: ({ end, stdout }) => {
      expect(end).toMatchObject({ cause: 'not_executable', message: expect.stringMatching(/longer than/) })
      expect(stdout.toString()).toBe('')
    },
  },
  {
    attempt: 'has as many arguments and variables as it may',
    program: {
      sh: 'echo $# $(printf %s "$LONG" | wc -c); env | wc -l',
      args: Array(4_000).fill('0'.repeat(100)),
      env: {
        ...Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`V${i}`, 'x'.repeat(500)])),
        LONG: 'x'.repeat(100_000),
      },
    },
    expect: ({ stdout }) => expect(stdout.toString()).toMatch(/^4000 100000\n90\d\n$/),
  },
  {
    attempt: 'puts its files elsewhere',
    program: {
      sh: 'echo harm',
      files: [{ path: '../../etc/cron.d/harm', source: '/etc/hostname', executable: false }],
    },
    expect: ({ end }) =>
      expect(end).toMatchObject({
        cause: 'not_executable',
        message: expect.stringMatching(/does not fit into a work directory/),
      }),
  },
  {
    attempt: 'changes itself',
    program: {
      sh: 'echo "echo harm" >> "$0"; cat "$0" | wc -l; rm -f "$0"; mv "$0" /tmp/x; [ -e "$0" ] && echo there',
    },
    expect: ({ stdout }) => expect(lines(stdout)).toEqual(['2', 'there']),
  },
  {
    attempt: 'ignores SIGTERM',
    program: { sh: 'trap "" TERM INT HUP; while :; do sleep 1; done', ...{ timeoutMs: 500, graceMs: 300 } },
    expect: ({ end }) => {
      expect(end).toMatchObject({ cause: 'timed_out', signal: 'SIGKILL' })
      expect(end.durationMs).toBeGreaterThanOrEqual(800)
    },
  },
  {
    attempt: 'stops itself',
    program: { sh: 'kill -STOP $$; echo continued', ...{ timeoutMs: 500, graceMs: 5_000 } },
    expect: ({ end }) => expect(end).toMatchObject({ cause: 'timed_out', signal: 'SIGTERM' }),
  },
  {
    attempt: 'kills everything that it can see',
    program: { sh: 'kill -9 1; kill -9 $PPID; kill -9 -1' },
    expect: ({ end }) => expect(end).toMatchObject({ cause: 'exited' }),
  },
  {
    attempt: 'becomes a daemon and stays',
    program: {
      node: `
        const { spawn } = require('child_process')
        const child = spawn('/bin/sh', ['-c', 'trap "" TERM HUP; while :; do sleep 1; done'], { detached: true, stdio: 'ignore' })
        child.unref()
        console.log('over')`,
    },
    expect: ({ end, stdout }) => {
      expect(end).toMatchObject({ cause: 'exited', exitCode: 0 })
      expect(stdout.toString()).toBe('over\n')
    },
  },
  {
    attempt: 'leaves pipes, sockets and folders that cannot be entered',
    program: {
      sh: 'mkfifo pipe; mkdir -p closed/inside; chmod 000 closed; ln -s / everything; ln pipe other; echo made',
    },
    expect: ({ stdout }) => expect(stdout.toString()).toBe('made\n'),
  },
]

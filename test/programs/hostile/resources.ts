/** Programs that want everything for themselves. */
import { expect } from 'vitest'
import { type Hostile, lines } from './hostile.ts'

const MIB = 1_024 ** 2

export const RESOURCES: readonly Hostile[] = [
  {
    attempt: 'starts processes without end',
    isLong: true,
    program: {
      sh: 'f() { f | f & }; f 2>/dev/null; sleep 1000',
      limits: { processes: 40 },
      ...{ timeoutMs: 2_000, graceMs: 200 },
    },
    expect: ({ end }) => expect(['timed_out', 'exited']).toContain(end.cause),
  },
  {
    attempt: 'has more processes than it may',
    program: {
      sh: 'i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); echo $i; done 2>/dev/null',
      limits: { processes: 20 },
    },
    expect: ({ stdout, end }) => {
      expect(end).toMatchObject({ cause: 'exited' })
      expect(end.exitCode).not.toBe(0)
      expect(lines(stdout).length).toBeGreaterThan(10)
      expect(lines(stdout).length).toBeLessThan(20)
    },
  },
  {
    attempt: 'uses more memory than it may',
    program: {
      node: `const all = []; for (;;) { all.push(Buffer.alloc(${8 * MIB}, 1)); process.stdout.write('8\\n') }`,
      limits: { memoryBytes: 256 * MIB },
    },
    expect: ({ stdout, end }, { hasCgroups }) => {
      // Without cgroups the allocation itself may fail, and Node.js ends itself.
      if (hasCgroups)
        expect(end).toMatchObject({
          cause: 'memory',
          signal: 'SIGKILL',
          message: expect.stringMatching(/268435456 bytes/),
        })
      else expect(end.exitCode).not.toBe(0)
      expect(lines(stdout).length * 8).toBeLessThan(256)
    },
  },
  {
    attempt: 'uses more memory than it may with many processes',
    isLong: true,
    program: {
      // Each has 40 MiB, in shared memory, which no limit of one process counts.
      node: `
        const { spawn } = require('child_process')
        if (process.argv[2]) { setInterval(() => {}, 1000); global.kept = Buffer.alloc(${40 * MIB}, 1); process.send('full') }
        else for (let i = 0; i < 12; i++) spawn(process.execPath, [__filename, 'child'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }).on('message', () => console.log('full'))`,
      limits: { memoryBytes: 256 * MIB, processes: 300 },
    },
    expect: ({ end }) => {
      expect(end).toMatchObject({ cause: 'memory' })
    },
  },
  {
    attempt: 'fills its disk',
    program: {
      sh: 'head -c 20000000 /dev/zero > big; ls -l big | tr -s " " | cut -d" " -f5; rm big; i=0; while [ $i -lt 10 ]; do head -c 3000000 /dev/zero > part$i || break; i=$((i+1)); done; echo $i; head -c 9000000 /dev/zero > /dev/shm/more && echo more',
      limits: { fileBytes: 16 * MIB },
    },
    expect: ({ stdout }) => {
      expect(lines(stdout)).toEqual([String(16 * MIB), '5'])
    },
  },
  {
    attempt: 'makes files by the thousand, and folders inside of folders',
    program: {
      node: `
        const fs = require('fs')
        for (let i = 0; i < 5000; i++) fs.writeFileSync('file' + i, '')
        for (let i = 0; i < 3000; i++) { fs.mkdirSync('d'.repeat(50)); process.chdir('d'.repeat(50)) }
        console.log('made')`,
    },
    expect: ({ stdout }) => expect(stdout.toString()).toBe('made\n'),
  },
  {
    attempt: 'opens more files than it may',
    program: {
      node: `const fs = require('fs'); let n = 0; try { for (;;) { fs.openSync('/dev/null'); n++ } } catch (e) { console.log(e.code, n < 64) }`,
      limits: { openFiles: 64 },
    },
    expect: ({ stdout }) => expect(stdout.toString()).toBe('EMFILE true\n'),
  },
  {
    attempt: 'uses more of the processor than it may',
    isLong: true,
    program: ({ hasCgroups }) =>
      hasCgroups
        ? {
            node: 'const end = Date.now() + 2000; while (Date.now() < end); const { user, system } = process.cpuUsage(); console.log((user + system) / 1e6)',
            limits: { cpus: 0.2 },
          }
        : { sh: 'while :; do :; done', limits: { cpus: 0.2 }, timeoutMs: 5_000 },
    expect: ({ stdout, end }, { hasCgroups }) => {
      // A fifth of two seconds, and the part of a period in which it began.
      if (hasCgroups) expect(Number(stdout.toString())).toBeLessThan(0.7)
      else expect(end).toMatchObject({ cause: 'exited', signal: expect.stringMatching(/SIGXCPU|SIGKILL/) })
    },
  },
  {
    attempt: 'writes output without end',
    program: { sh: 'exec cat /dev/zero', limits: { outputBytes: 2 * MIB }, graceMs: 500 },
    expect: ({ stdout, end }) => {
      expect(end).toMatchObject({
        cause: 'output',
        message: 'The program wrote more than 2097152 bytes of output.',
      })
      expect(stdout.length).toBe(2 * MIB)
    },
  },
  {
    attempt: 'writes ten gigabytes, of which nobody wants more than a few',
    isLong: true,
    program: { sh: 'head -c 10000000000 /dev/zero; echo written >&2', limits: { outputBytes: 8 * MIB } },
    expect: ({ stdout, stderr, end }) => {
      expect(end.cause).toBe('output')
      expect(stdout.length).toBe(8 * MIB)
      expect(stderr.toString()).not.toContain('written')
    },
  },
  {
    attempt: 'writes whatever bytes there are',
    program: {
      node: `const all = Buffer.alloc(65536); for (let i = 0; i < all.length; i++) all[i] = (i * 7) ^ (i >> 8); process.stdout.write(all); process.stderr.write(all)`,
    },
    expect: ({ stdout, stderr, end }) => {
      const all = Buffer.alloc(65_536)
      for (let i = 0; i < all.length; i += 1) all[i] = (i * 7) ^ (i >> 8)
      expect(end.exitCode).toBe(0)
      expect(stdout.equals(all)).toBe(true)
      expect(stderr.equals(all)).toBe(true)
    },
  },
]

/** Programs without a sandbox: what limits and ends them all the same. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  aFolder,
  attemptsOnDisk,
  cgroupsOf,
  type ProgramWorker,
  processesWith,
  SECRET,
  startWorker,
  USERS,
} from './support/grounds.ts'

describe.runIf(process.platform !== 'win32').each(USERS)(
  'a program of $user without a sandbox',
  ({ uid }) => {
    let worker: ProgramWorker
    beforeAll(async () => {
      worker = await startWorker(uid, 'none')
    })

    test('has a separate environment, work directory and input', async () => {
      const source = join(aFolder(), 'source')
      writeFileSync(source, 'content\n')

      const { end, stdout, stderr } = await worker.run({
        sh: 'cat in/file /dev/stdin; echo "$A"; echo x > /dev/stderr; env; [ "$PWD" = "$HOME" ] && echo home; echo changed > in/file; exit 4',
        ...{ env: { A: 'a b' }, stdin: 'input\n', files: [{ path: 'in/file', source, executable: false }] },
      })

      expect(end).toMatchObject({ cause: 'exited', exitCode: 4, signal: null })
      expect(stdout.toString()).toMatch(/^content\ninput\na b\n[\s\S]*\nhome\n$/)
      expect(stdout.toString()).not.toContain(SECRET)
      expect(stderr.toString()).toBe('x\n')
      expect(readFileSync(source, 'utf8')).toBe('content\n')
    })

    test('inherits no descriptors', async () => {
      const { stdout } = await worker.run({ sh: 'ls /proc/self/fd', stdin: '' })

      expect(stdout.toString()).toBe('0\n1\n2\n3\n')
    })

    test('cannot change its original file', async () => {
      const { stdout, end } = await worker.run({ sh: 'echo "echo changed" >> "$0"; echo ran' })

      expect(end.exitCode).toBe(0)
      expect(stdout.toString()).toMatch(/^ran\n/)
      expect(readFileSync(worker.lastScript, 'utf8')).not.toContain('\necho changed')
    })

    test('is reported with the signal that ended it', async () => {
      expect((await worker.run({ sh: 'kill -ABRT $$' })).end).toMatchObject({
        exitCode: 134,
        signal: 'SIGABRT',
      })
    })

    test('is ended with its process group at its timeout', async () => {
      const mark = randomUUID()

      const { end } = await worker.run({
        sh: 'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & while :; do sleep 1; done',
        ...{ env: { MARK: mark }, timeoutMs: 500, graceMs: 200 },
      })

      expect(end).toMatchObject({ cause: 'timed_out', signal: 'SIGKILL' })
      expect(processesWith(mark)).toEqual([])
    })

    test('leaves no process of its group behind, and with cgroups no process at all', async () => {
      const mark = randomUUID()
      const isHeld = worker.enforcement.processes === 'cgroup'

      const { end } = await worker.run({
        sh: `(trap "" TERM HUP; sleep 1000) & ${isHeld ? '(setsid sleep 1000 &);' : ''} sleep 0.2; echo over`,
        env: { MARK: mark },
      })

      expect(end).toMatchObject({ cause: 'exited', exitCode: 0 })
      expect(processesWith(mark)).toEqual([])
      expect(cgroupsOf(worker)).toEqual([])
    })

    test('starts without child processes to wait for', async () => {
      const { end } = await worker.run({ sh: 'wait; exec sh -c "wait; cat /proc/$$/task/$$/children"' })

      expect(end).toMatchObject({ cause: 'exited', exitCode: 0 })
    })

    test('is stopped when it exceeds its memory or output limit', async () => {
      const memory = await worker.run({
        node: 'const all = []; for (;;) all.push(Buffer.alloc(8 << 20, 1))',
        limits: { memoryBytes: 128 * 1_024 ** 2 },
      })
      const output = await worker.run({ sh: 'exec cat /dev/zero', limits: { outputBytes: 100_000 } })

      expect(memory.end.exitCode).not.toBe(0)
      expect(output.end.cause).toBe('output')
      expect(output.stdout.length).toBe(100_000)
    })

    test('cannot write files above the size limit', async () => {
      const { stdout } = await worker.run({
        sh: 'head -c 3000000 /dev/zero > big 2>/dev/null; wc -c < big',
        limits: { fileBytes: 1_024 ** 2 },
      })

      expect(stdout.toString().trim()).toBe(String(1_024 ** 2))
    })

    test('leaves nothing on disk, and removing its links keeps what they point to', async () => {
      const precious = join(aFolder(), 'precious')
      mkdirSync(precious)
      writeFileSync(join(precious, 'file'), 'kept')

      const { end } = await worker.run({
        sh: `ln -s '${precious}' link; mkfifo pipe; mkdir -p closed/inside; ln -s '${precious}' closed/inside/link; chmod 000 closed/inside closed
        exec '${process.execPath}' -e 'for (let i = 0; i < 200; i++) { fs.mkdirSync("d".repeat(100)); process.chdir("d".repeat(100)) }'`,
      })

      expect(end.exitCode).toBe(0)
      expect(attemptsOnDisk(worker.directory)).toEqual([])
      expect(existsSync(join(precious, 'file'))).toBe(true)
    })
  },
)

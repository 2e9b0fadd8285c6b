/** A worker that is killed takes its programs with it, and the next one removes what it left. */
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { processesLeftBehind } from '../../src/sandbox/owner.ts'
import { childrenOf, descendantsOf, isFiltering, isOver } from '../../src/sandbox/processes.ts'
import { eventually } from '../support/eventually.ts'
import { cgroupsOf, processesWith, startWorker, USERS } from './support/grounds.ts'

/** A program that does everything to stay. */
const STAYING =
  'trap "" TERM HUP INT; (setsid sh -c "trap \\"\\" TERM HUP; while :; do sleep 1; done" &); echo up; while :; do sleep 1; done'

describe.runIf(process.platform === 'linux').each(USERS)('a killed worker of $user', ({ uid }) => {
  test.each(['bubblewrap', 'none'] as const)('leaves no program behind (%s)', async (kind) => {
    const mark = randomUUID()
    const worker = await startWorker(uid, kind)
    const running = worker.start({
      sh: kind === 'none' ? STAYING.replace('setsid ', '') : STAYING,
      env: { MARK: mark },
    })
    running.outcome.catch(() => undefined)
    await running.said('up')
    expect(processesWith(mark).length).toBeGreaterThan(0)

    worker.child.kill('SIGKILL')

    await eventually(async () => processesWith(mark).length === 0)
  })

  // Each is stopped before it can have asked to die with the one above, which then dies.
  test.each([
    ['outer launcher', 1],
    ['first process of the namespaces', 2],
  ])('leaves no program behind if the %s had just been started', async (_, depth) => {
    const { worker, pid } = await workerWithStopped(uid, depth)
    const parents = descendantsOf(worker.child.pid ?? 0).filter((one) => one !== pid)

    worker.child.kill('SIGKILL')
    await eventually(async () => parents.every(isOver))
    process.kill(pid, 'SIGCONT')

    await eventually(async () => isOver(pid))
  })

  test('leaves no program behind, at whatever moment it is killed', async () => {
    const mark = randomUUID()
    for (const afterMs of [0, 5, 10, 20, 30]) {
      const worker = await startWorker(uid)
      for (let i = 0; i < 3; i += 1)
        worker.start({ sh: STAYING, env: { MARK: mark } }).outcome.catch(() => undefined)
      await delay(afterMs)
      worker.child.kill('SIGKILL')
    }

    await eventually(async () => processesWith(mark).length === 0)
    await eventually(async () => processesLeftBehind().length === 0)
  })

  test('can leave a detached program without a sandbox, which the next worker ends', async () => {
    const mark = randomUUID()
    const worker = await startWorker(uid, 'none')
    const running = worker.start({
      sh: 'setsid sleep 1000 & sleep 0.1; echo up; sleep 1000',
      env: { MARK: mark },
    })
    running.outcome.catch(() => undefined)
    await running.said('up')
    worker.child.kill('SIGKILL')
    // Any worker on the machine may be the next one.
    await eventually(async () => processesWith(mark).length <= 1)

    await startWorker(uid)

    await eventually(async () => processesWith(mark).length === 0)
  })

  test('leaves files and cgroups that the next worker removes', async () => {
    const worker = await startWorker(uid)
    const running = worker.start({ sh: STAYING })
    running.outcome.catch(() => undefined)
    await running.said('up')
    const exited = new Promise((resolve) => worker.child.once('exit', resolve))
    worker.child.kill('SIGKILL')
    await exited
    expect(readdirSync(worker.directory).length).toBe(2)

    const next = await startWorker(uid, 'bubblewrap', worker.directory)

    expect(readdirSync(worker.directory).filter((name) => name.includes(`-${worker.child.pid}-`))).toEqual([])
    expect(cgroupsOf(worker)).toEqual([])
    await next.close()
  })
})

/** A worker, and the process so far below it that starts its program, stopped while it was getting ready. */
async function workerWithStopped(uid: number | null, depth: number) {
  for (;;) {
    const worker = await startWorker(uid)
    worker.start({ sh: STAYING }).outcome.catch(() => undefined)
    const pid = catchBelow(worker.child.pid ?? 0, depth)
    process.kill(pid, 'SIGSTOP')
    if (!isFiltering(pid) && !isOver(pid)) return { worker, pid }
    worker.child.kill('SIGKILL')
  }
}

/** Looks without a pause: what it looks for takes a few milliseconds. */
function catchBelow(pid: number, depth: number): number {
  const deadline = performance.now() + 30_000
  while (performance.now() < deadline) {
    let found: number | undefined = pid
    for (let level = 0; level < depth && found !== undefined; level += 1) found = childrenOf(found).at(0)
    if (found !== undefined) return found
  }
  throw new Error('the worker started nothing')
}

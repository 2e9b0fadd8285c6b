/**
 * Programs that mean harm, each with what it attempts. After each, the worker, the machine and a program that runs beside it are
 * as they were.
 */
import { randomUUID } from 'node:crypto'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whenDone } from '../../support/cleanup.ts'
import {
  aFolder,
  attemptsOnDisk,
  cgroupsOf,
  processesWith,
  type Running,
  startWorker,
  USERS,
} from '../support/grounds.ts'
import type { Host, Hostile } from './hostile.ts'

const CANARY = 'not for programs'

export function hostileSuite(programs: readonly Hostile[]): void {
  describe.runIf(process.platform === 'linux').each(USERS)('a program of $user', ({ uid }) => {
    let host: Host
    let neighbour: Running
    beforeAll(async () => {
      const worker = await startWorker(uid)
      const folder = aFolder()
      const canary = join(folder, 'canary')
      writeFileSync(canary, CANARY)
      const socketPath = join(tmpdir(), `belfry-test-${randomUUID()}.sock`)
      const connections: string[] = []
      const [onPort, onPath] = [createServer(), createServer()]
      for (const server of [onPort, onPath]) server.on('connection', () => connections.push('connected'))
      await new Promise<void>((resolve) => onPort.listen(0, '127.0.0.1', resolve))
      await new Promise<void>((resolve) => onPath.listen(socketPath, resolve))
      chmodSync(socketPath, 0o777)
      whenDone(() => [onPort.close(), onPath.close()])
      const { port } = onPort.address() as AddressInfo
      host = {
        worker,
        canary,
        port,
        socketPath,
        connections,
        hasCgroups: worker.enforcement.memory === 'cgroup',
      }
      neighbour = worker.start({
        sh: 'trap "echo ended; exit 0" TERM; echo mine > file; echo begun; while :; do sleep 0.05; done',
        timeoutMs: null,
      })
      await neighbour.said('begun')
    })
    afterAll(async () => {
      neighbour.stop()
      const { end, stdout } = await neighbour.outcome
      expect(end).toMatchObject({ cause: 'stopped', exitCode: 0 })
      expect(stdout.toString()).toBe('begun\nended\n')
      await host.worker.close()
    })

    test.each(programs.map((one) => [one.attempt, one] as const))(
      'that %s does no harm',
      async (_, hostile) => {
        const mark = `hostile-${randomUUID()}`
        const wanted = typeof hostile.program === 'function' ? hostile.program(host) : hostile.program

        const outcome = await host.worker.run({ ...wanted, env: { ...wanted.env, MARK: mark } })

        await hostile.expect(outcome, host)
        expect(processesWith(mark)).toEqual([])
        // What is left is the neighbour's.
        expect(attemptsOnDisk(host.worker.directory)).toHaveLength(1)
        expect(cgroupsOf(host.worker)).toHaveLength(host.hasCgroups ? 3 : 0)
        expect(host.connections).toEqual([])
        expect(readFileSync(host.canary, 'utf8')).toBe(CANARY)
        expect(statSync(host.canary).nlink).toBe(1)
        expect(host.worker.child.exitCode).toBeNull()
      },
    )
  })
}

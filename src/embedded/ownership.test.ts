import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { startTimeOf } from '../runtime/process-identity.ts'
import { claimOwnership, readOwner } from './ownership.ts'
import { aDirectory, buildProgram, run } from './test-support.ts'

vi.setConfig({ testTimeout: 120_000 })

const CONTENDERS = 6
let program: Awaited<ReturnType<typeof buildProgram>>
let dir: string

beforeAll(async () => {
  program = await buildProgram()
})
afterAll(() => program.remove())
beforeEach(() => {
  dir = aDirectory()
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const leaveClaim = (name: string, claim: object) =>
  writeFileSync(join(dir, name), JSON.stringify({ startTime: null, url: null, claimedAt: '', ...claim }))

const STALE = { id: '00000000-0000-4000-8000-000000000001', pid: process.pid, startTime: 'another boot/1' }
const STALE_TAKER = {
  id: '00000000-0000-4000-8000-000000000002',
  pid: process.pid,
  startTime: 'another boot/2',
}

test('an owner entry can be read by other processes and updated, and release removes it', () => {
  const ownership = claimOwnership(dir)
  ownership.update({ url: 'http://127.0.0.1:4000', nodeId: 'a' })

  expect(ownership.predecessor).toBeNull()
  expect(readOwner(dir)).toMatchObject({
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    url: 'http://127.0.0.1:4000',
    nodeId: 'a',
  })
  ownership.release()
  expect(readOwner(dir)).toBeNull()
  expect(readdirSync(dir)).toEqual([])
})

test('an entry whose pid now belongs to another program is stale', () => {
  leaveClaim('belfry.json', STALE)

  expect(readOwner(dir)).toBeNull()
  claimOwnership(dir)

  expect(readOwner(dir)).toMatchObject({ pid: process.pid })
  expect(readdirSync(dir)).toEqual(['belfry.json'])
})

test('a process that takes over from a dead owner learns who the owner was', () => {
  leaveClaim('belfry.json', { ...STALE, nodeId: 'a' })

  expect(claimOwnership(dir).predecessor).toMatchObject({ pid: process.pid, nodeId: 'a' })
})

test('an entry that a power cut left incomplete is stale', () => {
  writeFileSync(join(dir, 'belfry.json'), '{"id": "0000')

  claimOwnership(dir)

  expect(readOwner(dir)).toMatchObject({ pid: process.pid })
})

test('a take-over by a process that crashed can be taken over', () => {
  leaveClaim('belfry.json', STALE)
  leaveClaim(`belfry.json.${STALE.id}`, STALE_TAKER)

  claimOwnership(dir)

  expect(readOwner(dir)).toMatchObject({ pid: process.pid })
  expect(readdirSync(dir)).toEqual(['belfry.json'])
})

test('of several processes that see the same stale entry, one becomes the owner', async () => {
  leaveClaim('belfry.json', STALE)

  const contenders = Array.from({ length: CONTENDERS }, () => run(program.path, 'claim', dir))
  const told = await Promise.all(contenders.map((contender) => contender.told))
  const winners = told.filter(({ code }) => code === undefined)
  const owner = readOwner(dir)
  await Promise.all(contenders.map((contender) => contender.finish()))

  expect(winners).toHaveLength(1)
  expect(owner?.pid).toBe(winners[0]?.pid)
  expect(told.filter(({ code }) => code === 'data_dir_in_use')).toHaveLength(CONTENDERS - 1)
})

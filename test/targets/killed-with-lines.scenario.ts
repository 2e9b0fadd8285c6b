/** A node dies with calls under way and runs waiting for full targets: another node makes every one of them. */
import { expect, test } from 'vitest'
import { QUICK } from '../support/cadence.ts'
import { callAll, endsOf, TARGET_LIMIT, untilUnderWay, untilWaiting } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { allEnded } from '../support/limits.ts'
import { startBelfry } from '../support/process.ts'
import { startTargets } from '../support/target-servers.ts'

const WAITING = 100

test('kill -9 of a node with full targets loses no run', async () => {
  const { url, db } = await createTestDatabase()
  const flags = ['--database-url', url, ...QUICK]
  const victim = await startBelfry(flags)
  const targets = startTargets()
  const [silent, down] = [await targets.open('silent'), await targets.open('refuses')]
  const successor = await startBelfry(flags)
  const held = await callAll(victim, silent, 2 * TARGET_LIMIT + WAITING)
  const broken = await callAll(victim, down, WAITING, { retry: { limit: 20, initial: '10ms', max: '10ms' } })
  await untilUnderWay(silent, 2 * TARGET_LIMIT)
  await untilWaiting(db, held, WAITING)

  victim.kill('SIGKILL')
  await victim.exited
  await silent.behave('healthy')
  await down.behave('healthy')
  await silent.release()
  await allEnded(db, [...held, ...broken], 150_000)

  const ids = [...held, ...broken]
  expect((await endsOf(db, ids)).map(({ state }) => state)).toEqual(ids.map(() => 'completed'))
  expect(new Set((await silent.read()).calls.map(({ runId }) => runId)).size).toBe(held.length)
  expect(successor.child.exitCode).toBeNull()
})

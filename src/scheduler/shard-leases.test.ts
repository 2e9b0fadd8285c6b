import { beforeEach, expect, test } from 'vitest'
import { aNode } from '../../test/support/agenda.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { SHARD_COUNT } from '../core/ids.ts'
import type { Database } from '../store/database/database.ts'
import { type Statement, sql } from '../store/database/sql.ts'
import { beat, declareDead } from '../store/nodes/nodes.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { ShardLeases } from './shard-leases.ts'

const { db } = await createTestDatabase()
let monotonic = 0

beforeEach(async () => {
  await db.run(sql`delete from node`)
  await db.run(sql`update shard set owner = null, watched_until = now()`)
  await db.run(sql`delete from unwatched`)
})

interface Member {
  readonly id: string
  readonly leases: ShardLeases
}

async function join(database: Database = db): Promise<Member> {
  const id = await aNode(db, ['scheduler'])
  const leases = new ShardLeases({
    nodeId: id,
    db: database,
    log: silentLogger(),
    beatMs: 1_000,
    takeoverMs: 3_000,
    monotonic: () => monotonic,
  })
  return { id, leases }
}

/** Everybody does one pass, a second after the one before. */
async function pass(members: readonly Member[], times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    monotonic += 1_000
    for (const { leases } of members) await leases.runOnce()
  }
}

const sizes = (members: readonly Member[]) =>
  members.map(({ leases }) => leases.ids.length).sort((a, b) => a - b)

async function expectOneOwnerEach(members: readonly Member[]): Promise<void> {
  const all = members.flatMap(({ leases }) => leases.ids)
  expect(new Set(all).size).toBe(all.length)
  expect(all.length).toBe(SHARD_COUNT)
  for (const { id, leases } of members) {
    const owned = await db.run(sql<{ id: number }>`select id from shard where owner = ${id}`)
    expect(owned.map((row) => row.id).sort()).toEqual(leases.ids.sort())
  }
}

test('a node alone watches every shard', async () => {
  const alone = await join()

  await pass([alone])

  await expectOneOwnerEach([alone])
})

test('nodes that join one after another or at once share the shards evenly', async () => {
  const members = [await join()]
  await pass(members)
  members.push(await join())
  await pass(members, 2)
  expect(sizes(members)).toEqual([32, 32])

  members.push(...(await Promise.all([join(), join(), join(), join(), join(), join()])))
  await pass(members, 3)

  await expectOneOwnerEach(members)
  expect(sizes(members)).toEqual([8, 8, 8, 8, 8, 8, 8, 8])
})

test('a node that stops hands over at once', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)

  await second.leases.stop()
  await db.run(declareDead({ nodeId: second.id, beat: null, reason: 'stopped' }))
  await pass([first])

  await expectOneOwnerEach([first])
})

test('the shards of a crashed node are taken over after three seconds and stay with the new owner', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)

  await pass([first], 2)
  expect(first.leases.ids).toHaveLength(32)
  await pass([first], 2)

  await expectOneOwnerEach([first])
  await pass([first], 5)
  await expectOneOwnerEach([first])
})

test('the shards of a node that was declared dead are taken at once', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)

  await db.run(declareDead({ nodeId: second.id, beat: null, reason: 'lost' }))
  await pass([first])

  await expectOneOwnerEach([first])
})

test('three nodes take over the shards of a crashed fourth evenly', async () => {
  const members = await Promise.all([join(), join(), join(), join()])
  await pass(members, 3)
  const survivors = members.slice(1)

  await pass(survivors, 6)

  await expectOneOwnerEach(survivors)
  expect(sizes(survivors)).toEqual([20, 22, 22])
})

test('a node that was only suspended gets its share back with its next heartbeat', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)
  await pass([first], 5)
  expect(first.leases.ids).toHaveLength(64)

  await db.run(beat(second.id))
  await pass([second, first], 3)

  await expectOneOwnerEach([first, second])
  expect(sizes([first, second])).toEqual([32, 32])
})

test('a node that could not read the database for a time takes no shards from other nodes', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)

  monotonic += 3_600_000
  await first.leases.runOnce()

  expect(first.leases.ids).toHaveLength(32)
})

test('a new owner knows since when its shards were unwatched', async () => {
  const [first, second] = [await join(), await join()]
  await pass([first, second], 2)
  const [shard] = second.leases.ids
  const crashedAt = Date.now()

  await pass([first], 5)

  const held = first.leases.get(shard as number)
  expect(held?.unwatched[0]?.from).toBeLessThanOrEqual(crashedAt + 50)
  expect(held?.unwatched[0]?.to).toBeGreaterThanOrEqual(crashedAt)
})

test('a long unwatched period is also known to later owners of the shard', async () => {
  await db.run(sql`update shard set watched_until = now() - interval '9 minutes'`)
  const first = await join()
  await pass([first])
  const second = await join()

  await pass([first, second], 2)

  const [shard] = second.leases.ids as [number]
  const longest = Math.max(...(second.leases.get(shard)?.unwatched ?? []).map(({ from, to }) => to - from))
  expect(longest).toBeGreaterThan(530_000)
})

const longestOf = ({ leases }: Member): number => {
  const [shard] = leases.ids as [number]
  return Math.max(...(leases.get(shard)?.unwatched ?? []).map(({ from, to }) => to - from))
}

test('an unwatched period that ends and begins again at once is one period', async () => {
  await db.run(sql`update shard set watched_until = now() - interval '25 seconds'`)
  const first = await join()
  await pass([first])
  await db.run(sql`update shard set watched_until = watched_until - interval '5 seconds'`)
  await db.run(sql`update watch set watched_until = watched_until - interval '5 seconds'`)
  await db.run(
    sql`update unwatched set from_at = from_at - interval '5 seconds', until_at = until_at - interval '5 seconds'`,
  )
  await db.run(declareDead({ nodeId: first.id, beat: null, reason: 'lost' }))

  const second = await join()
  await pass([second])

  expect(longestOf(second)).toBeGreaterThanOrEqual(30_000)
  expect(longestOf(second)).toBeLessThan(60_000)
})

test('two unwatched periods with a watch between them stay two', async () => {
  await db.run(sql`update shard set watched_until = now() - interval '5 seconds'`)
  await db.run(
    sql`insert into unwatched (shard, from_at, until_at)
        select id, now() - interval '9 minutes', now() - interval '9 seconds' from shard`,
  )
  const alone = await join()
  await pass([alone])

  const [shard] = alone.leases.ids as [number]
  const lengths = alone.leases.get(shard)?.unwatched.map(({ from, to }) => Math.round((to - from) / 60_000))
  expect(lengths).toEqual([0, 9])
})

test('an unwatched period is known even if the answer to storing its end was lost', async () => {
  const alone = await join(losing('insert into watch', 'after', 3))
  await pass([alone], 2)
  await db.run(sql`update shard set watched_until = now() - interval '25 seconds'`)
  await db.run(sql`update watch set watched_until = now() - interval '25 seconds'`)
  monotonic += 25_000
  await expect(alone.leases.runOnce()).rejects.toThrow()

  await pass([alone])

  expect(longestOf(alone)).toBeGreaterThanOrEqual(25_000)
})

/** The same database, but the answer to the nth statement that matches is lost: after it was carried out, or before. */
function losing(pattern: string, when: 'after' | 'before', nth = 1): Database {
  let matches = 0
  return {
    run: async (statement: Statement<unknown>) => {
      const loses = statement.text.includes(pattern) && ++matches === nth
      if (loses && when === 'before') throw new Error('Connection terminated')
      const rows = await db.run(statement)
      if (loses) throw new Error('Connection terminated')
      return rows
    },
  } as unknown as Database
}

test('shards are watched even if the answer to taking them was lost', async () => {
  const alone = await join(losing('with free as', 'after'))
  await expect(alone.leases.runOnce()).rejects.toThrow()

  await pass([alone], 2)

  await expectOneOwnerEach([alone])
})

test('shards whose release failed are watched again', async () => {
  const first = await join(losing('set owner = null', 'before'))
  await pass([first])
  const second = await join()
  monotonic += 1_000
  await expect(first.leases.runOnce()).rejects.toThrow()

  await pass([first, second], 6)

  await expectOneOwnerEach([first, second])
})

test('a node that was suspended records the unwatched period before it fires again', async () => {
  const alone = await join()
  await pass([alone])
  const [shard] = alone.leases.ids as [number]
  await db.run(sql`update shard set watched_until = now() - interval '2 minutes'`)
  await db.run(sql`update watch set watched_until = now() - interval '2 minutes'`)

  monotonic += 120_000
  expect(alone.leases.get(shard)).toBeUndefined()
  await alone.leases.runOnce()

  const held = alone.leases.get(shard)
  expect((held?.unwatched[0]?.to ?? 0) - (held?.unwatched[0]?.from ?? 0)).toBeGreaterThan(115_000)
})

test('after another node dies everything is read again, since its last hints may be lost', async () => {
  const alone = await join()
  const apiNode = await aNode(db, ['api'])
  await pass([alone], 2)
  const changes = countChanges(alone)

  await pass([alone])
  expect(changes.count).toBe(0)
  await db.run(declareDead({ nodeId: apiNode, beat: null, reason: 'lost' }))
  await pass([alone], 2)

  expect(changes.count).toBe(1)
})

test('after a pause in which a node could not fire, everything is read again', async () => {
  const alone = await join()
  await pass([alone], 2)
  const changes = countChanges(alone)
  const [shard = 0] = alone.leases.ids

  monotonic += 3_001
  expect(alone.leases.get(shard)).toBeUndefined()
  await pass([alone], 2)

  expect(alone.leases.get(shard)).toBeDefined()
  expect(changes.count).toBe(1)
})

test('a change found in a pass that then fails is reported by the next pass', async () => {
  const alone = await join(losing('select id, owner, fence, beat', 'before', 2))
  await pass([alone])
  const changes = countChanges(alone)

  monotonic += 3_001
  await expect(alone.leases.runOnce()).rejects.toThrow()
  expect(changes.count).toBe(0)
  await pass([alone], 2)

  expect(changes.count).toBe(1)
})

function countChanges({ leases }: Member): { count: number } {
  const changes = { count: 0 }
  leases.onChange(() => changes.count++)
  return changes
}

/** What nodes do by themselves, with the most that they may have to do at once: none of it holds up the process. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { eventually } from '../support/eventually.ts'
import { MAX_HELD_MS } from './bounds.ts'
import { startWatchedNode } from './watched-node.ts'

/** Maximum number of catch-up runs of one task. */
const CAP = 10_000
const HOURS = 6

const { send, watch, db } = await startWatchedNode()

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tehran', 'Australia/Lord_Howe', 'Asia/Kathmandu']
/** Due every second, by twenty triggers that all have to be asked. */
const schedule = Array.from({ length: 20 }, (_, i) => ({
  type: 'cron',
  expression: `${i}-59 * * * * *`,
  timezone: zones[i % zones.length],
}))

/** A task that catches up on all its missed occurrences, 100 per second. */
async function create(): Promise<string> {
  const { status, text } = await send('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
    overlap: 'allow',
    jitter: '900ms',
    startAt: new Date(Date.now() + 3_600_000).toISOString(),
    schedule,
    misfire: { policy: 'run_all', cap: CAP, window: '7d', rate: 100 },
  })
  expect(status, text).toBe(201)
  return JSON.parse(text).id
}

/** Lets a task have begun hours ago. */
const beginLongAgo = (id: string) =>
  db.run(sql`
    update task set created_at = now() - make_interval(hours => ${HOURS}::integer), definition = (definition::jsonb - 'startAt')::json
    where id = ${id}::uuid`)

async function countCatchUp(id: string): Promise<number> {
  const [row] = await db.run(sql<{ count: number }>`
    select ((select count(*) from agenda where task_id = ${id}::uuid and kind = 'catchup')
            + (select count(*) from run where task_id = ${id}::uuid and kind = 'catchup'))::integer as count`)
  return row?.count ?? 0
}

async function countPassedOver(id: string): Promise<number> {
  const [row] = await db.run(sql<{ count: number }>`
    select count(*)::integer as count from run where task_id = ${id}::uuid and covers_until is not null`)
  return row?.count ?? 0
}

/** Nobody has watched any shard for hours, in which a task came due each second; whoever takes the shards has to lay that out. */
async function misses(id: string): Promise<void> {
  await beginLongAgo(id)
  await db.run(sql`
    update agenda set wake_at = x.at, scheduled_for = x.at, jitter_ms = null
    from (select date_trunc('second', now()) - make_interval(hours => ${HOURS}::integer) as at) x where task_id = ${id}::uuid`)
  await db.run(sql`
    with told as (update watch set watched_until = now() - make_interval(hours => ${HOURS + 1}::integer))
    update shard set owner = null, fence = fence + 1, watched_until = now() - make_interval(hours => ${HOURS + 1}::integer)`)
}

test('a scheduler that catches up on 10 000 occurrences does not block the event loop', async () => {
  const id = await create()

  const { heldMs } = await watch(async () => {
    await misses(id)
    await eventually(async () => (await countCatchUp(id)) >= CAP)
  })

  expect(await countPassedOver(id)).toBe(1)
  expect(heldMs).toBeLessThan(MAX_HELD_MS)
})

test('an audit that restores a task with 10 000 lost occurrences does not block the event loop', async () => {
  const id = await create()

  const { heldMs } = await watch(async () => {
    await beginLongAgo(id)
    await db.run(sql`delete from agenda where task_id = ${id}::uuid`)
    await db.run(sql`update audit_progress set next_pass_at = now(), walked_to = null`)
    await eventually(async () => (await countCatchUp(id)) >= CAP)
  })

  expect(await countPassedOver(id)).toBe(1)
  expect(heldMs).toBeLessThan(MAX_HELD_MS)
})

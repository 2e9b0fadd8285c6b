import { expect, test } from 'vitest'
import { whenDone } from '../../../test/support/cleanup.ts'
import { createTestDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { startProxy } from '../../../test/support/proxy.ts'
import { SHARD_COUNT, uuidv7 } from '../../core/ids.ts'
import { Database } from '../../store/database/database.ts'
import { sql } from '../../store/database/sql.ts'
import { silentLogger } from '../../telemetry/logger.ts'
import type { DueHint } from '../wake-ups.ts'
import { PostgresWakeUps } from './postgres-wake-ups.ts'

const { url, db } = await createTestDatabase()

async function aNode({ listenUrl = url as string | null, sendingTo = db } = {}) {
  const heard = { due: [] as DueHint[][], ready: 0, cancel: 0 }
  const wakeUps = new PostgresWakeUps({
    nodeId: uuidv7(),
    db: sendingTo,
    listenUrl,
    clock: { now: () => Date.now() },
    log: silentLogger(),
  })
  wakeUps.onDue((hints) => heard.due.push([...hints]))
  wakeUps.onReady(() => heard.ready++)
  wakeUps.onCancel(() => heard.cancel++)
  await wakeUps.start()
  whenDone(() => wakeUps.stop())
  return { wakeUps, heard }
}

test('an announcement reaches the own node at once and other nodes soon', async () => {
  const [one, other] = [await aNode(), await aNode()]

  one.wakeUps.announceDue([
    { shard: 3, at: 500 },
    { shard: 3, at: 200 },
  ])
  one.wakeUps.announceReady()
  one.wakeUps.announceCancel()

  expect(one.heard).toMatchObject({ ready: 1, cancel: 1 })
  await eventually(async () => other.heard.cancel > 0)
  expect(other.heard).toEqual({ due: [[{ shard: 3, at: 200, until: 500 }]], ready: 1, cancel: 1 })
})

test('a node that cannot listen polls, and looks at everything once it can listen again', async () => {
  const proxy = await startProxy(url)
  const { heard } = await aNode({ listenUrl: proxy.url })
  const other = await aNode()

  proxy.cut()
  const [poll = []] = await eventually(async () => heard.due.length > 0 && heard.due)
  expect(poll).toHaveLength(SHARD_COUNT)
  expect(poll[0]?.until).toBeGreaterThan(Date.now() - 5_000)
  expect(poll[0]?.until).toBeLessThanOrEqual(Date.now())
  expect([heard.ready, heard.cancel]).toEqual([heard.due.length, heard.due.length])

  proxy.mend()
  const everything = { at: 0, until: Number.MAX_SAFE_INTEGER }
  await eventually(async () => heard.due.some(([hint]) => hint?.at === 0))
  expect(heard.due.at(-1)).toEqual(
    Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, ...everything })),
  )
  other.wakeUps.announceDue([{ shard: 1, at: 7 }])
  await eventually(async () => heard.due.some(([hint]) => hint?.at === 7))
})

test('an announcement that cannot be sent is sent later, together with newer ones', async () => {
  const proxy = await startProxy(url)
  const sendingTo = new Database({
    url: proxy.url,
    applicationName: 'belfry test',
    maxConnections: 1,
    statementTimeoutMs: 1_000,
  })
  whenDone(() => sendingTo.close())
  const [cutOff, other] = [await aNode({ sendingTo }), await aNode()]

  proxy.cut()
  cutOff.wakeUps.announceDue([{ shard: 5, at: 100 }])
  await expect(sendingTo.run({ text: 'select 1', values: [] })).rejects.toThrow()
  cutOff.wakeUps.announceDue([{ shard: 5, at: 90 }])
  proxy.mend()

  await eventually(async () => other.heard.due.some(([hint]) => hint?.at === 90 && hint.until === 100))
})

test('a node without a URL to listen at sends wake-ups but receives only its own', async () => {
  const [mute, other] = [await aNode({ listenUrl: null }), await aNode()]

  mute.wakeUps.announceDue([{ shard: 1, at: 1 }])
  await eventually(async () => other.heard.due.length > 0)
  other.wakeUps.announceReady()
  await eventually(async () => other.heard.ready > 0)
  mute.wakeUps.announceDue([{ shard: 2, at: 2 }])
  await eventually(async () => other.heard.due.length > 1)

  expect(mute.heard).toMatchObject({ ready: 0, due: [[{ shard: 1 }], [{ shard: 2 }]] })
})

test('invalid payloads on the channel are ignored', async () => {
  const [one, other] = [await aNode(), await aNode()]

  for (const garbage of ['', 'null', '{}', '{"due":7}', '{"due":[null]}'])
    await db.run(sql`select pg_notify('belfry_wake', ${garbage})`)
  other.wakeUps.announceDue([{ shard: 1, at: 7 }])

  await eventually(async () => one.heard.due.length > 0)
  expect(one.heard).toMatchObject({ due: [[{ shard: 1, at: 7, until: 7 }]], cancel: 0 })
})

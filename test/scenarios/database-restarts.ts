/**
 * PostgreSQL stops without a word and comes back, several times in a row, under a node with work that never pauses: how long after
 * the last time the node dispatches again, and how long until nothing is overdue.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../src/embedded/server.ts'
import { Client, type Wanted } from '../checker/client.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { ask, recordChanges, untilEnded } from '../checker/observe.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { eventually } from '../support/eventually.ts'
import { whenFileEnds } from '../support/file-end.ts'
import { aDirectory, startBelfry } from '../support/process.ts'

/** How soon a node was itself again, from the first connection that was accepted after the last restart. */
export interface Recovery {
  readonly dispatchMs: number
  /** Until nothing was overdue. */
  readonly clearMs: number
  /** Passes of the node's loops that failed, for each second in which the server was gone. */
  readonly failuresPerSecond: number
}

const ONE_OFFS = 3_000
const SPREAD_MS = 30_000
const RECURRING = 20
/** For how long the server is gone each time: about as long as it would take one with much to play back. */
const DOWN_MS = 2_000
/** A row this late is overdue: what is on time is fired and ended in much less. */
const OVERDUE_MS = 500
const PATIENCE = { everyMs: 10, withinMs: 90_000 }

const OVERDUE = `
  select count(*)::integer as count from agenda
  where wake_at < clock_timestamp() - ${OVERDUE_MS} * interval '1 millisecond'`

/** A server of the scenario's own: the one that other tests share must not be stopped. */
async function aServer() {
  const dataDir = join(aDirectory(), 'server')
  const server = await startEmbeddedPostgres({ dataDir })
  whenFileEnds(() => server.stop())
  /** As `pg_ctl restart -m immediate` does it: no connection is told, and the log is played back. */
  const restart = async () => {
    const ended = new Promise<void>((resolve) => {
      const forget = server.onExit(() => resolve(forget()))
    })
    process.kill(server.pid, 'SIGQUIT')
    await ended
    await delay(DOWN_MS)
    await server.restart()
  }
  return { url: server.connectionString, restart }
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

const workload = (sink: Sink): Wanted[] => [
  ...Array.from({ length: ONE_OFFS }, (_, n) => ({
    key: `one-off-${n}`,
    body: {
      key: `one-off-${n}`,
      action: { type: 'webhook', url: sink.url(`one-off/${n}`) },
      schedule: { type: 'once', at: inMs(2_000 + (n * SPREAD_MS) / ONE_OFFS) },
    },
  })),
  ...Array.from({ length: RECURRING }, (_, n) => ({
    key: `recurring-${n}`,
    body: {
      key: `recurring-${n}`,
      action: { type: 'webhook', url: sink.url(`recurring/${n}`) },
      schedule: { type: 'every', interval: '1s' },
      endAt: inMs(2_000 + SPREAD_MS),
    },
  })),
]

/** Restarts the database so many times in the middle of the work, and has all of that judged. */
export async function restartDatabase(times: number): Promise<Recovery> {
  const { url, restart } = await aServer()
  const node = await startBelfry(['--database-url', url])
  await recordChanges(url)
  const sink = await startSink()
  const client = new Client(node.url)
  await client.createTogether(workload(sink))
  const delivers = async () => {
    const before = sink.deliveries.length
    await eventually(async () => sink.deliveries.length > before, PATIENCE)
  }
  await delivers()

  const nemesis = new Nemesis(url)
  for (let n = 0; n < times - 1; n++) {
    const over = nemesis.note('kill_database', [], PATIENCE.withinMs)
    await restart()
    over()
  }
  const over = nemesis.note('kill_database', [], PATIENCE.withinMs)
  await restart()
  const backAt = performance.now()
  over()
  await delivers()
  const dispatchMs = performance.now() - backAt
  await eventually(async () => (await ask<{ count: number }>(url, OVERDUE))[0]?.count === 0, PATIENCE)
  const clearMs = performance.now() - backAt

  const ids = [...client.idsOf('one-off'), ...client.idsOf('recurring')]
  await untilEnded(url, ids, PATIENCE)
  await expectSound({ url, client, sink, faults: nemesis.faults })
  const failures = node.log.filter(({ msg }) => String(msg).endsWith('pass failed')).length
  return { dispatchMs, clearMs, failuresPerSecond: (failures * 1_000) / (times * DOWN_MS) }
}

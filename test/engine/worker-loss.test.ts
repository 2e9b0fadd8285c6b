/** What a task says about the loss of a worker, and what then becomes of its runs: when the reaper finds them. */
import { expect, test } from 'vitest'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { Reaper } from '../../src/liveness/reaper.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertOverride } from '../../src/store/tasks/run-overrides.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { aNode, tasksInAgenda } from '../support/agenda.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'

const { db } = await createTestDatabase()
const reaper = new Reaper({
  ...{ nodeId: await aNode(db), db, wakeUps: new LocalWakeUps(), log: silentLogger() },
  ...{ clock: steadyClock(() => Date.now()), everyMs: 1_000, deadAfterMs: 15_000, batch: 1_000 },
})

/** A run of a task whose worker dies in the given attempt, after so many earlier losses. */
async function lostIn(
  { attempt, losses = 0 }: { attempt: number; losses?: number },
  definition: Partial<TaskDefinition>,
  overriddenLimit?: number,
): Promise<Record<string, unknown> | undefined> {
  const dead = await aNode(db, ['worker'])
  const [{ runId } = { runId: '' }] = await tasksInAgenda(db, { definition })
  if (overriddenLimit !== undefined)
    await db.run(insertOverride({ runId, override: { retry: { limit: overriddenLimit } } }))
  await db.run(sql`
    update agenda set state = 'running', worker_id = ${dead}, claimed_at = now(), attempt = ${attempt}, losses = ${losses}
    where run_id = ${runId}`)
  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${dead}`)
  await reaper.runOnce()
  const [row] = await db.run(sql<Record<string, unknown>>`
    select state::text, losses, null as message from agenda where run_id = ${runId}
    union all select state::text, losses, error ->> 'message' from run where run_id = ${runId}`)
  return row
}

const retry = (limit: number) => ({ limit, initial: '1s', max: '30s' })
const again = (losses: number) => ({ state: 'pending', losses })
const ended = (words: string) => ({
  state: 'permanently_failed',
  message: expect.stringContaining(words) as string,
})

test.each<[string, { attempt: number; losses?: number }, Partial<TaskDefinition>, object]>([
  ['retry: the loss uses up nothing', { attempt: 1 }, { retry: retry(0) }, again(1)],
  ['retry: not with all retries made either', { attempt: 4 }, {}, again(1)],
  ['retry: a fifth loss is the last', { attempt: 5, losses: 4 }, {}, ended('lost its worker 5 times')],
  ['count: a retry is left', { attempt: 3 }, { onWorkerLoss: 'count' }, again(1)],
  ['count: none is left', { attempt: 4 }, { onWorkerLoss: 'count' }, ended('retry limit of 3 is reached')],
  [
    'count: there was none',
    { attempt: 1 },
    { onWorkerLoss: 'count', retry: retry(0) },
    ended('retry limit of 0 is'),
  ],
  [
    'count: earlier losses count',
    { attempt: 2, losses: 1 },
    { onWorkerLoss: 'count', retry: retry(1) },
    ended('retry limit of 1'),
  ],
  [
    'count: a fifth loss is the last',
    { attempt: 5, losses: 4 },
    { onWorkerLoss: 'count', retry: retry(9) },
    ended('lost its worker 5 times'),
  ],
  ['fail: the first loss is the last', { attempt: 1 }, { onWorkerLoss: 'fail' }, ended('at most once')],
])('%s', async (_, lost, definition, expected) => {
  expect(await lostIn(lost, definition)).toMatchObject(expected)
})

test('onWorkerLoss count uses the retry limit that the trigger sets for the run', async () => {
  expect(await lostIn({ attempt: 1 }, { onWorkerLoss: 'count' }, 0)).toMatchObject(ended('retry limit of 0'))
  expect(await lostIn({ attempt: 4 }, { onWorkerLoss: 'count' }, 9)).toMatchObject(again(1))
})

test('onWorkerLoss count applies to a definition that is read in its brief form', async () => {
  const definition: Partial<TaskDefinition> = {
    onWorkerLoss: 'count',
    retry: retry(0),
    metadata: { long: 'x'.repeat(5_000) },
  }

  expect(await lostIn({ attempt: 1 }, definition)).toMatchObject(ended('retry limit of 0'))
})

import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { steadyClock } from '../../test/support/clock.ts'
import { KeptLog } from '../../test/support/logs.ts'
import type { Work } from '../transport/transport.ts'
import { Attempt, type StopReason } from './attempt.ts'

const WORK = {
  runId: 'r',
  taskId: 't',
  attempt: 1,
  fence: 1,
  scheduledFor: 0,
  wakeAt: 0,
  definition: aDefinition(),
}

/** The result of an attempt that has completed, and is stopped while the rest of its log is stored. */
async function stoppedWhileStoring(reason: StopReason) {
  const log = new KeptLog()
  const attempt = new Attempt(WORK as unknown as Work, steadyClock(), { open: () => log })
  log.end = async () => attempt.stop(reason)
  const ended = await attempt.perform(
    {
      execute: async (_, { log }) => {
        log.say('info', 'done')
        return { kind: 'completed', output: 17 }
      },
    },
    WORK.definition.action,
  )
  return ended?.outcome
}

test.each(['timeout', 'cancelled', 'shutdown'] as const)(
  'a completed attempt stays completed when a stop (%s) arrives before its log is stored',
  async (reason) => {
    expect(await stoppedWhileStoring(reason)).toEqual({ kind: 'completed', output: 17 })
  },
)

test('an attempt that lost its lease reports no outcome, however late the loss', async () => {
  expect(await stoppedWhileStoring('lease_lost')).toEqual({ kind: 'lease_lost' })
})

import { expect, test } from 'vitest'
import { aDefinition } from '../../../../test/support/agenda.ts'
import type { TaskRow } from '../../../store/tasks/tasks.ts'
import { presentTask } from './present.ts'
import { writeTask } from './write-task.ts'

const NOW = Date.parse('2026-11-18T09:00:00.123Z')

function aRow(changes: Partial<TaskRow> = {}): TaskRow {
  return {
    id: '01a1ec00-1c60-7000-af8e-dce59a0d75be',
    projectId: '00000000-0000-7000-8000-000000000001',
    key: null,
    name: null,
    owner: null,
    tags: [],
    version: 1,
    definition: aDefinition(),
    createdAt: NOW,
    updatedAt: NOW,
    pausedAt: null,
    pauseReason: null,
    resumeAt: null,
    skipUntil: null,
    skipReason: null,
    cancelledAt: null,
    deletedAt: null,
    state: 'scheduled',
    nextAt: NOW,
    openRun: null,
    ...changes,
  } as TaskRow
}

const DECIDED = aDefinition({
  action: {
    type: 'http',
    method: 'POST',
    url: 'https://example.com/',
    headers: { 'x-api-key': 'secret' },
    body: 'a\n"b"',
  },
  schedule: { type: 'cron', expression: '0 9 * * *', timezone: 'Europe/Berlin' },
  endAt: '2027-01-01T00:00:00Z',
  retry: { limit: 0, initial: '1s', max: '30s' },
  labels: ['gpu'],
  priority: -5,
  concurrencyKey: 'with "quotes" and \u2028',
  metadata: { retry: null },
  seed: 'x',
})

test.each<[string, TaskRow]>([
  ['a task that is as most are', aRow()],
  [
    'a task of which much was decided',
    aRow({ definition: DECIDED, name: 'na"me', key: 'k', owner: 'o', tags: ['a"', 'b'] }),
  ],
  [
    'a task without an occurrence',
    aRow({ definition: aDefinition({ schedule: { type: 'manual' } }), nextAt: null }),
  ],
  [
    'a task that waits for files',
    aRow({ state: 'paused', pausedAt: NOW, pauseReason: 'waits for "x"', nextAt: null }),
  ],
])('%s is written as JSON.stringify writes it', (_, row) => {
  expect(writeTask(row)).toBe(JSON.stringify(presentTask(row)))
})

import { expect, test } from 'vitest'
import type { Task } from '../../api/wire.ts'
import { bulkEffects } from './bulk-effects.ts'

const aTask = (fields: object) => ({ openRun: null, overlap: 'skip', nextFireAt: null, ...fields }) as Task

test('the effects of a bulk action on a single task are in the singular', () => {
  const task = aTask({ openRun: { id: 'r' }, nextFireAt: '2030-01-01T00:00:00.000Z' })

  expect(bulkEffects('delete', [task])).toContain('1 active run will be cancelled.')
  expect(bulkEffects('pause', [task])).toEqual([
    'Upcoming occurrences of 1 task do not run until it is resumed.',
    '1 active run continues.',
  ])
  expect(bulkEffects('run', [task, aTask({})])).toEqual([
    '1 run starts immediately, in addition to the schedules.',
    '1 task is refused: a run is active, and the overlap policy is skip.',
  ])
})

test('a bulk action says so if there is nothing to stop', () => {
  expect(bulkEffects('pause', [aTask({}), aTask({})])).toEqual([
    'They have no upcoming occurrences.',
    'They have no active runs.',
  ])
})

import { expect, test } from 'vitest'
import type { Project } from '../../api/wire.ts'
import { LIMIT_FIELDS, limitsEdit, typedLimits } from './limit-fields.ts'

const limits: Project['limits'] = {
  minPeriod: '10ms',
  maxAhead: null,
  requestRate: '100/m',
  maxPayloadBytes: null,
  maxTasks: 20,
  maxStoredBytes: null,
  runRate: null,
  maxRunning: 4,
}

test('an edit contains only changed limits, numbers as numbers, and an empty field removes a limit', () => {
  const typed = {
    ...typedLimits(limits),
    maxTasks: '30',
    requestRate: ' ',
    runRate: '5/s',
    maxRunning: 'few',
  }

  expect(limitsEdit(limits, typedLimits(limits))).toEqual({})
  expect(limitsEdit(limits, typed)).toEqual({
    maxTasks: 30,
    requestRate: null,
    runRate: '5/s',
    maxRunning: 'few',
  })
})

test('usage is shown for each limit that is set and counted', () => {
  const use = { tasks: 5, storedBytes: null, requests: 40, running: 4 }
  const project = { limits, use } as Project

  const used = LIMIT_FIELDS.map(({ name, used }) => [name, used?.(project) ?? null])

  expect(Object.fromEntries(used)).toMatchObject({
    requestRate: { value: 40, of: 100 },
    maxTasks: { value: 5, of: 20 },
    maxRunning: { value: 4, of: 4 },
    maxStoredBytes: null,
    minPeriod: null,
  })
})

import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../values/default-project.ts'
import { laneOf } from './lane.ts'

const plain = {
  action: { type: 'sleep', duration: '0s' },
  queue: 'default',
  labels: [],
  secrets: null,
  onWorkerLoss: 'retry',
  concurrencyKey: null,
  concurrencyLimit: 1,
  concurrencyRate: null,
  concurrencyBurst: null,
} as const

test('tasks that ask for nothing special share a lane', () => {
  expect(laneOf(DEFAULT_PROJECT_ID, plain).id).toBe(0)
  expect(laneOf(DEFAULT_PROJECT_ID, { ...plain, onWorkerLoss: 'fail' }).id).toBe(1)
})

test('the order in which labels are written does not matter', () => {
  const one = laneOf(DEFAULT_PROJECT_ID, { ...plain, labels: ['gpu', 'eu', 'gpu'] })
  const two = laneOf(DEFAULT_PROJECT_ID, { ...plain, labels: ['eu', 'gpu'] })

  expect(one).toEqual(two)
})

test('queue, labels, way of claiming, concurrency key and project each give a separate lane', () => {
  const lanes = [
    laneOf(DEFAULT_PROJECT_ID, plain),
    laneOf(DEFAULT_PROJECT_ID, { ...plain, queue: 'mail' }),
    laneOf(DEFAULT_PROJECT_ID, { ...plain, labels: ['mail'] }),
    laneOf(DEFAULT_PROJECT_ID, { ...plain, onWorkerLoss: 'fail' }),
    laneOf(DEFAULT_PROJECT_ID, { ...plain, concurrencyKey: 'k' }),
    laneOf('01900000-0000-7000-8000-000000000000', plain),
  ]

  expect(new Set(lanes.map(({ id }) => id)).size).toBe(lanes.length)
  for (const { id } of lanes) expect(Number.isSafeInteger(id)).toBe(true)
})

test('tasks with one concurrency key share a lane, whatever their onWorkerLoss', () => {
  const one = laneOf(DEFAULT_PROJECT_ID, { ...plain, concurrencyKey: 'k', onWorkerLoss: 'fail' })
  const two = laneOf(DEFAULT_PROJECT_ID, { ...plain, concurrencyKey: 'k', concurrencyLimit: 5 })

  expect(one.id).toBe(two.id)
  expect(two.gate).toEqual({ key: 'k', places: 5, rate: null, burst: null })
})

test('a program is run by workers that offer it, and is never claimed ahead', () => {
  const file = { ...plain, labels: ['gpu'], action: { type: 'exec', file: 'f' } } as const
  const command = { ...plain, action: { type: 'exec', command: '/bin/true', args: ['a'] } } as const
  const large = { ...plain, action: { type: 'exec', command: '/bin/true', largeBytes: 5_000 } } as const

  expect(laneOf(DEFAULT_PROJECT_ID, file)).toMatchObject({ labels: ['belfry:exec', 'gpu'], isStrict: true })
  expect(laneOf(DEFAULT_PROJECT_ID, command)).toMatchObject({
    labels: ['belfry:command:/bin/true', 'belfry:exec'],
    isStrict: true,
    handler: null,
  })
  expect(laneOf(DEFAULT_PROJECT_ID, large)).toEqual(laneOf(DEFAULT_PROJECT_ID, command))
})

test('each handler has separate lanes for any payload, and its runs are never claimed ahead', () => {
  const resize = { ...plain, action: { type: 'handler', name: 'resize', payload: 1 } } as const
  const lane = laneOf(DEFAULT_PROJECT_ID, resize)

  expect(lane).toMatchObject({ handler: 'resize', isStrict: true })
  expect(laneOf(DEFAULT_PROJECT_ID, { ...resize, onWorkerLoss: 'fail' }).id).toBe(lane.id)
  expect(laneOf(DEFAULT_PROJECT_ID, { ...resize, action: { ...resize.action, payload: 2 } }).id).toBe(lane.id)
  const others = [
    laneOf(DEFAULT_PROJECT_ID, plain),
    laneOf(DEFAULT_PROJECT_ID, { ...plain, onWorkerLoss: 'fail' }),
    laneOf(DEFAULT_PROJECT_ID, { ...resize, action: { type: 'handler', name: 'crop' } }),
    laneOf(DEFAULT_PROJECT_ID, { ...resize, queue: 'images' }),
    laneOf(DEFAULT_PROJECT_ID, { ...resize, labels: ['gpu'] }),
    laneOf(DEFAULT_PROJECT_ID, { ...resize, concurrencyKey: 'resize' }),
  ]
  expect(others.map(({ id }) => id)).not.toContain(lane.id)
})

test('runs that refer to secrets wait for workers that can read them', () => {
  const lane = laneOf(DEFAULT_PROJECT_ID, { ...plain, labels: ['gpu'], secrets: ['API_KEY'] })

  expect(lane.labels).toEqual(['belfry:secrets', 'gpu'])
  expect(lane.id).not.toBe(laneOf(DEFAULT_PROJECT_ID, { ...plain, labels: ['gpu'] }).id)
  expect(laneOf(DEFAULT_PROJECT_ID, { ...plain, secrets: ['A'] }).id).toBe(
    laneOf(DEFAULT_PROJECT_ID, { ...plain, secrets: ['B', 'C'] }).id,
  )
})

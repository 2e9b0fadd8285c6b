import { expect, test } from 'vitest'
import { aBook, call, ended } from './test-support.ts'

const TARGET = 'https://api.example.com'

/** A line whose circuit five tasks have opened. */
function anOpenLine() {
  const made = aBook()
  const line = made.book.line('p', TARGET)
  for (const taskId of ['a', 'b', 'c', 'd', 'e']) call(line, 'unreachable', { taskId })
  expect(line).toMatchObject({ free: 0, condition: 'circuit' })
  return { ...made, line }
}

test.each(['unreachable', 'timed_out', 'overloaded'] as const)(
  'five consecutive calls of two tasks with the result %s open the circuit',
  (kind) => {
    const { book } = aBook()
    const line = book.line('p', TARGET)

    for (const taskId of ['a', 'a', 'a', 'b']) call(line, kind, { taskId })
    expect(line.condition).toBe('open')
    call(line, kind, { taskId: 'a' })

    expect(line).toMatchObject({ free: 0, condition: 'circuit', perSecond: 0 })
    expect(book.line('q', TARGET).free).toBe(128)
  },
)

test.each(['answered', 'failed'] as const)(
  'a call with the result %s in between keeps the circuit closed',
  (kind) => {
    const { book, pass } = aBook()
    const line = book.line('p', TARGET)

    for (let i = 0; i < 100; i++) {
      pass(100)
      call(line, i % 5 === 4 ? kind : 'unreachable', { taskId: `t${i}` })
    }

    expect(line.condition).toBe('open')
  },
)

test('a single task whose calls all fail with a response never opens the circuit', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)

  for (let i = 0; i < 1_000; i++) {
    pass(10)
    call(line, 'failed', { taskId: 'broken' })
  }

  expect(line).toMatchObject({ free: 128, condition: 'open' })
})

test('timeouts of one task do not open the circuit while calls of other tasks are answered', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  call(line, 'answered', { taskId: 'b' })

  for (let i = 0; i < 200; i++) {
    pass(1_000)
    for (let n = 0; n < 10; n++) call(line, 'timed_out', { taskId: 'a', durationMs: 30_000 })
    if (i % 20 === 0) call(line, 'answered', { taskId: 'b' })
  }

  expect(line.condition).toBe('open')
})

test('late timeouts of old calls do not open the circuit when later calls were answered', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  for (let i = 0; i < 20; i++) line.begin()

  pass(60_000)
  call(line, 'answered')
  for (let i = 0; i < 20; i++) line.end(ended('timed_out', { taskId: `t${i}`, durationMs: 60_000 }))

  expect(line.free).toBe(128)
})

test('a task that calls a target alone opens the circuit', () => {
  const { book } = aBook()
  const line = book.line('p', TARGET)

  for (let i = 0; i < 5; i++) call(line, 'unreachable')

  expect(line.condition).toBe('circuit')
})

test('one of several tasks opens the circuit only if no other has called for ten minutes', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  call(line, 'answered', { taskId: 'b' })
  call(line, 'answered', { taskId: 'a' })

  pass(1_000)
  for (let i = 0; i < 50; i++) call(line, 'unreachable', { taskId: 'a' })
  expect(line.condition).toBe('open')
  pass(600_000)
  call(line, 'unreachable', { taskId: 'a' })

  expect(line.condition).toBe('circuit')
})

test('tasks that opt out have a line without a circuit', () => {
  const { book } = aBook()
  const line = book.line('p', TARGET, { noCircuit: true })

  for (let i = 0; i < 50; i++) call(line, 'unreachable', { taskId: `t${i}` })

  expect(line.condition).toBe('open')
})

test('after five seconds exactly one probe starts, and its response closes the circuit', () => {
  const { line, pass, opened, book } = anOpenLine()

  pass(4_999)
  expect(line.free).toBe(0)
  pass(1)
  expect(opened).toEqual([line.id])
  expect(line).toMatchObject({ free: 1, condition: 'open' })
  line.begin()
  expect(line).toMatchObject({ free: 0, condition: 'circuit' })
  line.end(ended('failed'))

  expect(line).toMatchObject({ free: 4, condition: 'open' })
  expect(opened).toEqual([line.id, line.id])
  expect(book.drainTransitions().map(({ change }) => change)).toEqual(['opened', 'probing', 'closed'])
  expect(book.drainTransitions()).toEqual([])
})

test('a failed probe doubles the time until the next, up to five minutes', () => {
  const { line, pass } = anOpenLine()
  const times: number[] = []

  pass(5_000)
  for (let probe = 0; probe < 8; probe++) {
    call(line, 'unreachable', { durationMs: 1 })
    let ms = 0
    for (; line.free === 0; ms += 100) pass(100)
    times.push(ms)
  }

  expect(times).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000])
})

test('after a neutral probe another one may start', () => {
  const { line, pass, opened } = anOpenLine()

  pass(5_000)
  call(line, 'neutral', { durationMs: 1 })

  expect(line.free).toBe(1)
  expect(opened).toHaveLength(2)
})

test('calls that began before the circuit opened do not affect it while it is open', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  for (let i = 0; i < 10; i++) line.begin()
  pass(30_000)
  for (const taskId of ['a', 'b', 'c', 'd', 'e']) call(line, 'unreachable', { taskId })

  pass(1_000)
  line.end(ended('answered', { durationMs: 31_000 }))
  line.end(ended('timed_out', { durationMs: 31_000 }))
  expect(line.condition).toBe('circuit')
  pass(4_000)
  line.begin()
  line.end(ended('answered', { durationMs: 35_000 }))
  line.end(ended('timed_out', { durationMs: 35_000 }))
  line.end(ended('neutral', { durationMs: 35_000 }))
  expect(line).toMatchObject({ free: 0, condition: 'circuit' })
  pass(50)
  line.end(ended('answered', { durationMs: 50 }))

  expect([line.condition, line.free]).toEqual(['open', 4])
})

test('a probe that hangs is replaced after half a minute, and its late response still counts', () => {
  const { line, pass, book } = anOpenLine()
  pass(5_000)
  line.begin()

  pass(30_000)
  expect(line).toMatchObject({ free: 0, condition: 'circuit' })
  pass(10_000)
  expect(line.free).toBe(1)
  line.end(ended('answered', { durationMs: 40_000 }))

  expect(line.condition).toBe('open')
  expect(book.drainTransitions().map(({ change }) => change)).toEqual([
    'opened',
    'probing',
    'reopened',
    'closed',
  ])
})

test('a target that usually takes minutes is given that time to answer a probe', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  for (let i = 0; i < 20; i++) call(line, 'answered', { durationMs: 60_000 })
  pass(60_000)
  for (const taskId of ['a', 'b', 'c', 'd', 'e']) call(line, 'unreachable', { taskId, durationMs: 1 })
  pass(5_000)
  line.begin()

  pass(120_000)
  expect(line.free).toBe(0)
  line.end(ended('answered', { durationMs: 120_000 }))

  expect(line.free).toBe(4)
})

test.each([
  [2_000, 5_000],
  [60_000, 63_000],
  [3_600_000, 300_000],
])('Retry-After of %i ms keeps the circuit open for %i ms', (retryAfterMs, openMs) => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)

  for (const taskId of ['a', 'b', 'c', 'd', 'e']) call(line, 'overloaded', { taskId, retryAfterMs })

  pass(openMs - 1)
  expect(line.free).toBe(0)
  pass(1)
  expect(line.free).toBe(1)
})

test('after the circuit closes, the limit ramps up from four', () => {
  const { line, pass } = anOpenLine()
  pass(5_000)
  call(line, 'answered', { durationMs: 1 })
  expect(line.free).toBe(4)

  for (let i = 0; i < 2_000; i++) {
    pass(1)
    while (line.free > 0) line.begin()
    line.end(ended('answered'))
  }

  expect(line.underWay + line.free).toBe(128)
})

test('a target that fails again at once gets the same pause as before', () => {
  const { line, pass } = anOpenLine()
  pass(5_000)
  call(line, 'unreachable', { durationMs: 1 })
  pass(10_000)
  call(line, 'answered', { durationMs: 1 })

  for (const taskId of ['a', 'b', 'c', 'd', 'e']) {
    pass(100)
    call(line, 'unreachable', { taskId, durationMs: 1 })
  }

  pass(9_999)
  expect(line.free).toBe(0)
  pass(1)
  expect(line.free).toBe(1)
})

import { expect, test } from 'vitest'
import { MAX_LINES } from './line-shelf.ts'
import { TargetBook } from './target-book.ts'
import type { TargetLine } from './target-line.ts'
import type { TargetSetting } from './target-setting.ts'
import { aBook, call, ended } from './test-support.ts'

const TARGET = 'https://api.example.com'

const setting = (more: Partial<TargetSetting>): TargetSetting => ({
  projectId: 'p',
  pattern: 'api.example.com',
  limit: null,
  rate: null,
  burst: null,
  isPaused: false,
  ...more,
})

test('a line has room for as many calls as its limit', () => {
  const { book } = aBook()
  const line = book.line('p', TARGET)

  for (let i = 0; i < 128; i++) line.begin()

  expect(line).toMatchObject({ id: `p ${TARGET}`, underWay: 128, free: 0, condition: 'full' })
  expect(book.line('p', TARGET)).toBe(line)
  expect(book.line('q', TARGET).free).toBe(128)
  expect(book.line('p', TARGET, { noCircuit: true })).toMatchObject({ id: `p ${TARGET} always`, free: 128 })
})

test('a limit of the project holds for tasks with and without a circuit together', () => {
  const { book, opened } = aBook()
  book.configure([setting({ limit: 2 })])
  const [guarded, always] = [book.line('p', TARGET), book.line('p', TARGET, { noCircuit: true })]
  guarded.begin()
  always.begin()
  const whileBoth = [guarded.free, always.free]
  opened.length = 0

  guarded.end(ended('answered'))

  expect(whileBoth).toEqual([0, 0])
  expect([guarded.free, always.free]).toEqual([1, 1])
  expect(opened).toContain(always.id)
})

test('the throughput of a line is that of the last second, and zero after a failure', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  for (let i = 0; i < 200; i++) {
    pass(10)
    call(line, 'answered')
  }

  expect(line.perSecond).toBeGreaterThan(90)
  expect(line.perSecond).toBeLessThan(110)
  call(line, 'unreachable', { durationMs: 1 })
  expect(line.perSecond).toBe(0)
})

test('a line with slower responses still has a throughput', () => {
  const { book, pass } = aBook()
  const line = book.line('p', TARGET)
  const answerAll = (durationMs: number) => {
    for (let i = 0; i < 100; i++) line.begin()
    pass(durationMs)
    for (let i = 0; i < 100; i++) line.end({ taskId: 'a', kind: 'answered', durationMs })
  }
  for (let i = 0; i < 20; i++) answerAll(5)

  for (let i = 0; i < 5; i++) answerAll(100)

  expect(book.report()[0]).toMatchObject({ limitReason: 'latency' })
  expect(line.perSecond).toBeGreaterThan(0)
})

test('a paused line has no room and is offered again when it resumes', () => {
  const { book, opened } = aBook()
  const line = book.line('p', TARGET)

  book.configure([setting({ isPaused: true })])
  expect(line).toMatchObject({ free: 0, condition: 'paused' })
  expect(book.line('q', TARGET).free).toBe(128)
  book.configure([])

  expect(line).toMatchObject({ free: 128, condition: 'open' })
  expect(opened).toEqual([line.id])
})

test('a full line is offered again when its limit is raised', () => {
  const { book, opened } = aBook()
  book.configure([setting({ limit: 2 })])
  const line = book.line('p', TARGET)
  line.begin()
  line.begin()
  expect(line).toMatchObject({ free: 0, condition: 'full' })

  book.configure([setting({ limit: 5 })])

  expect(line.free).toBe(3)
  expect(opened).toEqual([line.id])
})

test('a line that has used up its rate is offered again when the next call may start', () => {
  const { book, opened, pass } = aBook()
  book.configure([setting({ rate: '10/s', burst: 2 })])
  const line = book.line('p', TARGET)

  call(line, 'answered')
  call(line, 'answered')
  expect(line).toMatchObject({ free: 0, condition: 'rate' })
  pass(99)
  expect(opened).toEqual([])
  pass(1)

  expect(opened).toEqual([line.id])
  expect(line.free).toBe(1)
})

test('both lines to a target share its rate, and both are offered again', () => {
  const { book, opened, pass } = aBook()
  book.configure([setting({ rate: '60/m', burst: 1 })])
  const line = book.line('p', TARGET)
  const always = book.line('p', TARGET, { noCircuit: true })

  call(line, 'answered')
  expect(always).toMatchObject({ free: 0, condition: 'rate' })
  pass(1_000)

  expect(opened.sort()).toEqual([line.id, always.id])
})

test('a rate is exact over a minute, for one node and for several', () => {
  let nodes = 1
  const { book, pass } = aBook({ nodes: () => nodes })
  book.configure([setting({ rate: '20/s', burst: 1 })])
  const line = book.line('p', TARGET)
  const startsIn = (ms: number) => {
    let starts = 0
    for (let i = 0; i < ms; i += 5) {
      for (; line.free > 0; starts++) call(line, 'answered', { durationMs: 1 })
      pass(5)
    }
    return starts
  }

  expect(startsIn(60_000)).toBe(1_200)
  nodes = 4
  expect(startsIn(60_000)).toBe(300)
})

test('a circuit that another node opened is open here until the same instant', () => {
  const { book, opened, pass, now } = aBook()
  const line = book.line('p', TARGET)
  const shared = { projectId: 'p', target: TARGET, openedAt: now(), until: now() + 8_000, error: null }

  book.learn([shared])
  expect(line).toMatchObject({ free: 0, condition: 'circuit' })
  pass(8_000)
  expect(line.free).toBe(1)
  expect(opened).toEqual([line.id])
  call(line, 'answered', { durationMs: 1 })

  expect(line.free).toBe(4)
  expect(book.drainTransitions()).toEqual([])
  book.learn([{ ...shared, until: now() + 8_000 }])
  expect(line.free).toBe(4)
})

test('a failed probe in this node opens the circuit as its own', () => {
  const { book, pass, now } = aBook()
  const line = book.line('p', TARGET)
  book.learn([{ projectId: 'p', target: TARGET, openedAt: now(), until: now() + 1_000, error: null }])

  pass(1_000)
  call(line, 'unreachable', { durationMs: 1 })
  book.learn([])

  expect(line.condition).toBe('circuit')
  expect(book.drainTransitions()).toMatchObject([{ change: 'opened', projectId: 'p', target: TARGET }])
})

test('a circuit that another node closed closes here too, unless this node opened it', () => {
  const { book, now, opened } = aBook()
  const shared = { projectId: 'p', openedAt: now(), until: now() + 60_000, error: null }
  const own = book.line('p', 'https://own.example.com')
  for (let i = 0; i < 5; i++) call(own, 'unreachable', { taskId: `t${i}` })

  book.learn([
    { ...shared, target: TARGET },
    { ...shared, target: own.target },
  ])
  book.learn([])

  expect(book.line('p', TARGET).free).toBe(4)
  expect(opened).toEqual([`p ${TARGET}`])
  expect(own.condition).toBe('circuit')
})

test('a transition reports its reason and since when and until when the circuit is open', () => {
  const { book, now } = aBook()
  const line = book.line('p', TARGET)
  const error = { code: 'connect_refused', message: 'connection refused' }

  for (let i = 0; i < 5; i++) call(line, 'unreachable', { taskId: `t${i}`, error })

  expect(book.drainTransitions()).toEqual([
    {
      projectId: 'p',
      target: TARGET,
      change: 'opened',
      at: now(),
      openedAt: now(),
      until: now() + 5_000,
      error,
    },
  ])
})

test('a report contains the state of a line and the reason', () => {
  const { book, now } = aBook()
  book.configure([setting({ limit: 50 })])
  const line = book.line('p', TARGET)
  const error = { code: 'connect_refused', message: 'connection refused' }
  book.line('p', 'https://unused.example.com')

  line.begin()
  for (let i = 0; i < 9; i++) call(line, 'answered', { durationMs: 100 })
  expect(book.report()).toMatchObject([
    { limit: 50, limitReason: 'setting', limitSince: null, circuit: null },
  ])
  for (let i = 0; i < 5; i++) call(line, 'unreachable', { taskId: `t${i}`, error })

  expect(book.report()).toMatchObject([
    {
      lineId: line.id,
      hasCircuit: true,
      condition: 'circuit',
      underWay: 1,
      limit: 35,
      maxLimit: 50,
      limitReason: 'failures',
      limitSince: now(),
      calls: 14,
      failures: 5,
      circuit: { state: 'open', openedAt: now(), until: now() + 5_000, isLearned: false, error },
      lastError: { ...error, at: now() },
    },
  ])
  expect(book.report()[0]?.latency?.p50).toBeGreaterThan(85)
})

test('unused lines are removed after a minute or later, and never with calls under way', () => {
  const { book } = aBook()
  call(book.line('p', 'https://idle.example.com'), 'answered')
  call(book.line('p', 'https://shrunk.example.com'), 'unreachable')
  const busy = book.line('p', 'https://busy.example.com')
  busy.begin()

  book.passAge()
  expect(book.size).toBe(3)
  book.passAge()
  expect([...book.lines()].map(({ target }) => target)).toEqual([
    'https://shrunk.example.com',
    'https://busy.example.com',
  ])
  for (let i = 0; i < 120; i++) book.passAge()

  expect([...book.lines()]).toEqual([busy])
})

test('a removed line that is used is in the book again', () => {
  const { book } = aBook()
  const line = book.line('p', TARGET)
  book.passAge()
  book.passAge()
  expect(book.size).toBe(0)

  line.begin()
  expect(book.line('p', TARGET)).toBe(line)
  line.end(ended('answered'))

  expect(line.underWay).toBe(0)
})

test('a removed line that is used again is paused with its target', () => {
  const { book, opened } = aBook()
  const kept = book.line('p', TARGET)
  book.passAge()
  book.passAge()
  book.line('p', TARGET)

  book.configure([setting({ isPaused: true })])
  expect(kept).toMatchObject({ free: 0, condition: 'paused' })
  for (let i = 0; i < 200; i++) book.passAge()
  book.configure([])

  expect(opened).toEqual([kept.id])
  expect(book.line('p', TARGET)).toBe(kept)
})

test('removing a line does not reset its rate', () => {
  const { book } = aBook()
  book.configure([setting({ rate: '1/h', burst: 1 })])
  call(book.line('p', TARGET), 'answered')

  for (let i = 0; i < 200; i++) book.passAge()

  expect(book.line('p', TARGET)).toMatchObject({ free: 0, condition: 'rate' })
})

test('without a clock of its own a book opens lines by real time', async () => {
  const opened = await new Promise<TargetLine>((resolve) => {
    const book = new TargetBook({ nodes: () => 1, onOpen: resolve })
    book.configure([setting({ rate: '100/s', burst: 1 })])
    call(book.line('p', TARGET), 'answered')
  })

  expect(opened).toMatchObject({ target: TARGET, free: 1, condition: 'open' })
})

test('the number of lines is bounded, and lines with calls under way stay', () => {
  const { book } = aBook()
  const busy = book.line('p', 'https://busy.example.com')
  busy.begin()

  for (let i = 0; i < MAX_LINES + 5_000; i++) book.line('p', `https://h${i}.example.com`)

  expect(book.size).toBeLessThanOrEqual(MAX_LINES)
  expect(book.line('p', busy.target)).toBe(busy)
})

test('a mail server gets few calls at once unless a setting allows more', () => {
  const { book } = aBook()
  const setting = {
    projectId: 'q',
    pattern: 'smtp://mail.example.com:587',
    limit: 20,
    rate: null,
    burst: null,
  }

  book.configure([{ ...setting, isPaused: false }])

  expect(book.line('p', 'smtp://mail.example.com:587').free).toBe(5)
  expect(book.line('q', 'smtp://mail.example.com:587').free).toBe(20)
})

test('a line that a lower rate leaves without room is offered again on time', () => {
  const { book, opened, pass } = aBook()
  const set = (rate: string) =>
    book.configure([{ projectId: 'p', pattern: TARGET, limit: null, rate, burst: null, isPaused: false }])
  const line = book.line('p', TARGET)
  set('100/s')
  line.begin()

  set('10/m')
  expect(line.free).toBe(0)
  pass(100)

  expect([line.free, opened]).toEqual([1, [line.id]])
})

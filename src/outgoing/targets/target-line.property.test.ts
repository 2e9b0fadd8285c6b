import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_CALL_LIMIT } from '../../core/target/target-state.ts'
import type { CallResultKind } from './call-result.ts'
import { LEAST_SILENCE_MS } from './hung-calls.ts'
import type { TargetBook } from './target-book.ts'
import type { TargetLine } from './target-line.ts'
import { aBook, call, ended } from './test-support.ts'

const TARGET = 'https://api.example.com'

type Step =
  | { readonly do: 'begin'; readonly count: number }
  | { readonly do: 'end'; readonly which: number; readonly kind: CallResultKind; readonly task: string }
  | { readonly do: 'pass'; readonly ms: number }
  | {
      readonly do: 'set'
      readonly limit: number | null
      readonly rate: string | null
      readonly isPaused: boolean
    }
  | { readonly do: 'learn'; readonly forMs: number | null }

const kind = fc.constantFrom<CallResultKind[]>(
  'answered',
  'failed',
  'overloaded',
  'unreachable',
  'unreachable',
  'timed_out',
  'timed_out',
  'neutral',
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('begin' as const), count: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(200),
      kind,
      task: fc.constantFrom('a', 'b', 'c'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(fc.nat(50), fc.nat(6_000), fc.nat(400_000)),
    }),
  },
  fc.record({
    do: fc.constant('set' as const),
    limit: fc.constantFrom(null, 1, 3, 50, 500),
    rate: fc.constantFrom(null, '1/s', '100/s', '10/m'),
    isPaused: fc.boolean(),
  }),
  fc.record({ do: fc.constant('learn' as const), forMs: fc.constantFrom(null, 0, 3_000, 300_000) }),
)

/** Plays what may happen to a line, as those who use it do: nothing begins without room. */
class Play {
  readonly made = aBook()
  readonly book: TargetBook = this.made.book
  readonly line: TargetLine = this.book.line('p', TARGET)
  readonly begun: number[] = []
  /** As it was set; calls under way when it is set stay. */
  ownLimit: number | null = null
  /** When a circuit closed last. */
  answersSince = Number.NEGATIVE_INFINITY

  take(next: Step): void {
    switch (next.do) {
      case 'begin':
        for (let i = 0; i < next.count && this.line.free > 0; i++) this.begin()
        break
      case 'end':
        this.end(next.which, next.kind, next.task)
        break
      case 'pass':
        this.made.pass(next.ms)
        break
      case 'set':
        this.book.configure([{ projectId: 'p', pattern: TARGET, burst: null, ...next }])
        this.ownLimit = Math.max(next.limit ?? 0, this.line.underWay) || null
        if (next.limit === null) this.ownLimit = null
        break
      case 'learn':
        this.book.learn(next.forMs === null ? [] : [this.shared(next.forMs)])
        break
    }
  }

  begin(): void {
    const before = this.report
    const isProbe = before?.circuit != null
    this.line.begin()
    this.begun.push(this.made.now())
    expect(before?.isPaused).not.toBe(true)
    if (isProbe) expect(this.line.free).toBe(0)
    else this.expectWithin(before?.limit ?? 500)
  }

  /** Calls that hang take no room. Those that began lately do, and those that began since the target was found to answer again. */
  expectWithin(limit: number): void {
    const { length } = this.begun
    expect(length).toBeLessThanOrEqual(this.ownLimit ?? 2 * DEFAULT_CALL_LIMIT)
    const lately = Math.max(this.answersSince, this.made.now() - LEAST_SILENCE_MS)
    expect(this.begun.filter((at) => at > lately).length).toBeLessThanOrEqual(limit)
  }

  end(which: number, kind: CallResultKind, taskId: string): void {
    const [startedAt] = this.begun.splice(which % Math.max(1, this.begun.length), 1)
    if (startedAt === undefined) return
    const wasOpen = this.report?.circuit != null
    this.line.end(ended(kind, { taskId, durationMs: Math.round(this.made.now() - startedAt) }))
    if (wasOpen && this.report?.circuit == null) this.answersSince = this.made.now()
  }

  get report() {
    return this.book.report().find(({ lineId }) => lineId === this.line.id)
  }

  shared(forMs: number) {
    const now = this.made.now()
    return { projectId: 'p', target: TARGET, openedAt: now - 1_000, until: now + forMs, error: null }
  }
}

test('calls under way are counted, and a line has room exactly when it is open', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const play = new Play()
      for (const each of steps) {
        play.take(each)
        expect(play.line.underWay).toBe(play.begun.length)
        expect(play.line.free > 0).toBe(play.line.condition === 'open')
      }
    }),
    { numRuns: 300 },
  )
})

test('after any history a target that responds regains all its room', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const play = new Play()
      for (const each of steps) play.take(each)

      play.book.configure([])
      play.book.learn([])
      play.made.pass(600_000)
      while (play.begun.length > 0) play.end(0, 'timed_out', 'a')
      for (let i = 0; i < 1_000; i++) {
        play.made.pass(1_000)
        for (let n = 0; n < 20 && play.line.free > 0; n++) call(play.line, 'answered', { durationMs: 1 })
      }

      const { underWay, free, condition } = play.line
      expect({ underWay, free, condition }).toEqual({ underWay: 0, free: 128, condition: 'open' })
    }),
    { numRuns: 100 },
  )
})

test('a line without room is offered again without polling', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const play = new Play()
      for (const each of steps) play.take(each)
      while (play.begun.length > 0) play.end(0, 'neutral', 'a')
      play.made.opened.length = 0
      const hadRoom = play.line.free > 0

      for (let i = 0; i < 400; i++) play.made.pass(1_000)

      const isPaused = play.report?.isPaused ?? false
      expect(hadRoom || isPaused || play.made.opened.includes(play.line.id)).toBe(true)
    }),
    { numRuns: 100 },
  )
})

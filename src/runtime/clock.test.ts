/** The estimate against clocks that go wrong in every way a clock can, in simulated time. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CLOCK_STEP_MS, DatabaseClock, holdMs, READING_LASTS_MS, type Step } from './clock.ts'

/** A node and a database: the node's monotonic clock is the time, the database's is what the test makes of it. */
class Simulation {
  monotonic = 5_000
  databaseMs = 1_800_000_000_000
  /** How fast the database's clock goes, by the node's. */
  rate = 1
  readonly clock = new DatabaseClock(() => this.monotonic)

  pass(ms: number): void {
    this.monotonic += ms
    this.databaseMs += ms * this.rate
  }

  read({ thereMs, backMs }: { thereMs: number; backMs: number }): Step | undefined {
    const sentAt = this.monotonic
    this.pass(thereMs)
    const at = this.databaseMs
    this.pass(backMs)
    return this.clock.observe({ sentAt, receivedAt: this.monotonic, at })
  }

  /** By how much somebody would be early who acted on the clock now. */
  get earlyMs(): number {
    return this.clock.atLeast() - this.databaseMs
  }
}

const anyTrip = fc.record({
  thereMs: fc.double({ min: 0.05, max: 120, noNaN: true }),
  backMs: fc.double({ min: 0.05, max: 120, noNaN: true }),
})
const anyPause = fc.double({ min: 0, max: 20_000, noNaN: true })

test('a drifting clock never makes a node early, for any round trips', () => {
  const drift = fc.integer({ min: -1_000, max: 1_000 })
  const readings = fc.array(fc.record({ trip: anyTrip, pause: anyPause }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(drift, readings, (ppm, all) => {
      const it = new Simulation()
      it.rate = 1 + ppm / 1e6
      for (const { trip, pause } of all) {
        expect(it.read(trip)).toBeUndefined()
        expect(it.earlyMs).toBeLessThan(0.01)
        it.pass(pause)
        expect(it.earlyMs).toBeLessThan(0.01)
      }
    }),
  )
})

test('a clock that is slewed at up to 10 percent makes a node at most 3 ms early', () => {
  const slews = fc.array(
    fc.record({
      trip: anyTrip,
      ppm: fc.integer({ min: -100_000, max: 100_000 }),
      pause: fc.double({ min: 0, max: 1_000, noNaN: true }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  fc.assert(
    fc.property(slews, (all) => {
      const it = new Simulation()
      for (const { trip, ppm, pause } of all) {
        it.rate = 1 + ppm / 1e6
        expect(it.read(trip)).toBeUndefined()
        expect(it.earlyMs).toBeLessThan(3.01)
        it.pass(pause)
        expect(it.earlyMs).toBeLessThan(3.01)
      }
    }),
  )
})

test('a continuous slew costs less than 1 ms while the clock is read often', () => {
  const it = new Simulation()
  it.read({ thereMs: 0.2, backMs: 0.2 })
  it.rate = 0.98
  for (let i = 0; i < 200; i++) {
    it.pass(READING_LASTS_MS)
    expect(it.earlyMs).toBeLessThan(1)
    it.read({ thereMs: 0.2, backMs: 0.2 })
    expect(it.earlyMs).toBeGreaterThan(-1)
  }
})

test('a steady clock costs no more lateness than the fastest answer takes to return', () => {
  const it = new Simulation()
  for (const backMs of [40, 90, 0.3, 12]) it.read({ thereMs: 0.2, backMs })

  expect(it.earlyMs).toBeGreaterThan(-0.5)
})

test('the best estimate is accurate when the ways there and back take equally long', () => {
  const it = new Simulation()
  it.read({ thereMs: 25, backMs: 25 })

  expect(Math.abs(it.clock.now() - it.databaseMs)).toBeLessThan(0.1)
})

test('a clock step is followed at the next reading and reported with its size', () => {
  const steps = fc.oneof(
    fc.integer({ min: -86_400_000, max: -2 * CLOCK_STEP_MS }),
    fc.integer({ min: 2 * CLOCK_STEP_MS, max: 86_400_000 }),
  )
  const trip = fc.record({
    thereMs: fc.double({ min: 0.05, max: 5, noNaN: true }),
    backMs: fc.double({ min: 0.05, max: 5, noNaN: true }),
  })
  fc.assert(
    fc.property(steps, trip, (byMs, ways) => {
      const it = new Simulation()
      for (let i = 0; i < 5; i++) {
        it.read(ways)
        it.pass(400)
      }
      const told: Step[] = []
      it.clock.onStep((step) => told.push(step))

      it.databaseMs += byMs
      const step = it.read(ways)

      expect(told).toEqual([step])
      expect(Math.abs((step?.byMs ?? 0) - byMs)).toBeLessThan(12)
      expect(it.earlyMs).toBeLessThan(0.01)
      expect(it.read(ways)).toBeUndefined()
    }),
  )
})

test('only instants after the last reading before a step are in doubt', () => {
  const it = new Simulation()
  it.read({ thereMs: 1, backMs: 1 })
  const before = it.clock.now()
  it.pass(100)
  const after = it.clock.now()
  it.databaseMs -= 500

  const step = it.read({ thereMs: 1, backMs: 1 })

  expect(step?.byMs).toBeCloseTo(-500, 0)
  expect(step?.assuredUntil).toBeLessThanOrEqual(before)
  expect(step?.assuredUntil).toBeLessThan(after)
  expect(step?.assuredUntil).toBeGreaterThan(before - 5)
})

test('an old clock reading delays an instant, and a new reading ends the delay', () => {
  const it = new Simulation()
  it.read({ thereMs: 0.1, backMs: 0.1 })
  const instant = it.databaseMs + 1_000

  it.pass(1_000.5)

  expect(it.clock.now()).toBeGreaterThanOrEqual(instant)
  expect(holdMs(it.clock, instant)).toBeGreaterThan(0)
  it.read({ thereMs: 0.1, backMs: 0.1 })
  expect(holdMs(it.clock, instant)).toBe(0)
})

import { expect, test } from 'vitest'
import { Overflow, type Shortage } from './overflow.ts'

const ALL = 1_000
const NOW = 100_000

const shortage = (changes: Partial<Shortage> = {}): Shortage => ({
  now: NOW,
  dueSince: NOW - 200,
  room: 0,
  claimed: 0,
  hasOthers: true,
  isReadyBehind: false,
  ...changes,
})

/** Offers made in ten seconds, asked every ten milliseconds. */
function offersInTenSeconds(claimedBack: (offered: number) => number): number {
  const overflow = new Overflow()
  let offered = 0
  for (let now = NOW; now < NOW + 10_000; now += 10) {
    const busy = shortage({ now, dueSince: now - 2_000, room: 1, claimed: claimedBack(offered) })
    offered += overflow.allowed(busy, ALL)
  }
  return offered
}

test('alone, what is due waits for room as long as there is some now and then', () => {
  const overflow = new Overflow()

  for (let now = NOW; now < NOW + 10_000; now += 100)
    expect(overflow.allowed(shortage({ now, hasOthers: false, room: now % 500 === 0 ? 10 : 0 }), ALL)).toBe(0)
})

test('a worker that has had no room for a second is stuck: everything that is due waits in ready', () => {
  const overflow = new Overflow()

  expect(overflow.allowed(shortage({ hasOthers: false, room: 5 }), ALL)).toBe(0)
  expect(overflow.allowed(shortage({ now: NOW + 900, hasOthers: false }), ALL)).toBe(0)
  expect(overflow.allowed(shortage({ now: NOW + 1_100, hasOthers: false }), ALL)).toBe(ALL)
})

test('others are offered nothing that has only just come due', () => {
  expect(new Overflow().allowed(shortage({ dueSince: NOW - 20 }), ALL)).toBe(0)
})

test('a worker that has room is given longer, and nothing is added to what waits already', () => {
  expect(new Overflow().allowed(shortage({ room: 1 }), ALL)).toBe(0)
  expect(new Overflow().allowed(shortage({ room: 1, dueSince: NOW - 1_100 }), ALL)).toBe(200)
  expect(new Overflow().allowed(shortage({ isReadyBehind: true }), ALL)).toBe(0)
})

test('others that take what they are offered are soon offered more', () => {
  expect(offersInTenSeconds(() => 0)).toBeGreaterThan(20_000)
})

test('others that take nothing are asked ever more rarely', () => {
  const offered = offersInTenSeconds((before) => before)

  expect(offered).toBeGreaterThan(200)
  expect(offered).toBeLessThan(3_000)
})

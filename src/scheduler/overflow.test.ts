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

test('without other workers, due runs wait as long as the own worker has room now and then', () => {
  const overflow = new Overflow()

  for (let now = NOW; now < NOW + 10_000; now += 100)
    expect(overflow.allowed(shortage({ now, hasOthers: false, room: now % 500 === 0 ? 10 : 0 }), ALL)).toBe(0)
})

test('after a second without room in the worker, every due run moves to ready', () => {
  const overflow = new Overflow()

  expect(overflow.allowed(shortage({ hasOthers: false, room: 5 }), ALL)).toBe(0)
  expect(overflow.allowed(shortage({ now: NOW + 900, hasOthers: false }), ALL)).toBe(0)
  expect(overflow.allowed(shortage({ now: NOW + 1_100, hasOthers: false }), ALL)).toBe(ALL)
})

test('other workers are not offered runs that have only just come due', () => {
  expect(new Overflow().allowed(shortage({ dueSince: NOW - 20 }), ALL)).toBe(0)
})

test('a worker that has room is given more time, and no run is added behind those in ready', () => {
  expect(new Overflow().allowed(shortage({ room: 1 }), ALL)).toBe(0)
  expect(new Overflow().allowed(shortage({ room: 1, dueSince: NOW - 1_100 }), ALL)).toBe(200)
  expect(new Overflow().allowed(shortage({ isReadyBehind: true }), ALL)).toBe(0)
})

test('other workers that take the offered runs are soon offered more', () => {
  expect(offersInTenSeconds(() => 0)).toBeGreaterThan(20_000)
})

test('other workers that take no runs are offered them less and less often', () => {
  const offered = offersInTenSeconds((before) => before)

  expect(offered).toBeGreaterThan(200)
  expect(offered).toBeLessThan(3_000)
})

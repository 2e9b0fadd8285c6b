import { expect, test } from 'vitest'
import { Lead } from './lead.ts'

/** A lead after some seconds at a rate of rows per second, with statements that took a millisecond each. */
function firing(perSecond: number): { lead: Lead; now: number } {
  const lead = new Lead()
  for (let now = 0; now <= 5_000; now += 50) lead.measure(1, perSecond / 20, now)
  return { lead, now: 5_000 }
}

test('a quick database has a short lead', () => {
  const { lead, now } = firing(1_000)
  expect(lead.at(now)).toEqual({ least: 10, most: 30 })

  lead.measure(3, 50, now)

  expect(lead.at(now)).toEqual({ least: 10, most: 30 })
})

test('at a low rate rows of a longer time are gathered, up to a bound', () => {
  const most = (perSecond: number) => {
    const { lead, now } = firing(perSecond)
    return lead.at(now).most
  }

  expect(most(10)).toBe(110)
  expect(most(100)).toBeGreaterThan(100)
  expect(most(200)).toBeGreaterThan(50)
  expect(most(200)).toBeLessThan(70)
  expect(new Lead().at(0)).toEqual({ least: 10, most: 110 })
})

test('the lead is as long as the slowest statement, twice that for gathering, and both are bounded', () => {
  const { lead, now } = firing(1_000)

  lead.measure(25, 50, now)
  lead.measure(4, 50, now)

  expect(lead.at(now)).toEqual({ least: 25, most: 50 })
  lead.measure(2_000, 50, now)
  expect(lead.at(now)).toEqual({ least: 40, most: 80 })
})

test('a slow statement is gradually forgotten', () => {
  const lead = new Lead()

  lead.measure(32, 1, 0)

  expect(lead.at(10_000).least).toBeCloseTo(16)
  lead.measure(1, 1, 10_000)
  expect(lead.at(60_000)).toEqual({ least: 10, most: 110 })
})

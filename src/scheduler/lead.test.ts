import { expect, test } from 'vitest'
import { Lead } from './lead.ts'

test('a quick database has a short lead', () => {
  const lead = new Lead()
  expect(lead.at(0)).toEqual({ least: 10, most: 30 })

  lead.measure(3, 1_000)

  expect(lead.at(1_000)).toEqual({ least: 10, most: 30 })
})

test('the lead is as long as the slowest statement took, twice that for what is gathered, and grows no further than its bound', () => {
  const lead = new Lead()

  lead.measure(25, 1_000)
  lead.measure(4, 1_000)

  expect(lead.at(1_000)).toEqual({ least: 25, most: 50 })
  lead.measure(2_000, 1_000)
  expect(lead.at(1_000)).toEqual({ least: 40, most: 80 })
})

test('what was slow is forgotten by and by', () => {
  const lead = new Lead()

  lead.measure(32, 0)

  expect(lead.at(10_000).least).toBeCloseTo(16)
  lead.measure(1, 10_000)
  expect(lead.at(60_000)).toEqual({ least: 10, most: 30 })
})

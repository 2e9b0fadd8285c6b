import { expect, test } from 'vitest'
import { CALM_MS, LoadLevel, SUSTAINED_MS } from './load-level.ts'

const STEP_MS = 250

/** Tells a level the same delay for a while, and answers what is refused then. */
function watcher(slowMs = 100) {
  const level = new LoadLevel(slowMs)
  let now = 0
  return (delayMs: number, forMs: number) => {
    for (const end = now + forMs; now < end; now += STEP_MS) level.observe(delayMs, now)
    return level.refused
  }
}

test('a short delay refuses nothing, and a sustained delay refuses the least important requests', () => {
  const after = watcher()

  expect(after(5_000, SUSTAINED_MS - STEP_MS)).toEqual([])
  expect(after(1, STEP_MS)).toEqual([])
  expect(after(110, 2 * SUSTAINED_MS)).toEqual(['browse'])
})

test('a longer delay refuses more kinds of requests, one after the other', () => {
  const after = watcher()

  expect(after(299, 10_000)).toEqual(['browse'])
  expect(after(301, 10_000)).toEqual(['browse', 'read'])
  expect(after(601, 10_000)).toEqual(['browse', 'read', 'change'])
  expect(after(60_000, 10_000)).toEqual(['browse', 'read', 'change'])
})

test('refusals end one kind at a time, once the delay is well below the bound', () => {
  const after = watcher()
  after(700, 10_000)

  expect(after(301, 10_000)).toEqual(['browse', 'read', 'change'])
  expect(after(290, CALM_MS + STEP_MS)).toEqual(['browse', 'read'])
  expect(after(1, CALM_MS)).toEqual(['browse'])
  expect(after(1, CALM_MS)).toEqual([])
})

test('refusals that return soon last longer each time, up to 16 times', () => {
  const after = watcher()
  const calmUntilNothing = () => {
    let calmMs = 0
    while (after(1, STEP_MS).length > 0) calmMs += STEP_MS
    return calmMs
  }
  const calms = Array.from({ length: 7 }, () => {
    expect(after(110, SUSTAINED_MS + STEP_MS)).toEqual(['browse'])
    return calmUntilNothing()
  })

  expect(calms.map((ms) => ms / CALM_MS)).toEqual([1, 2, 4, 8, 16, 16, 16])
  after(1, 60_000)
  after(110, SUSTAINED_MS + STEP_MS)
  expect(calmUntilNothing()).toBe(CALM_MS)
})

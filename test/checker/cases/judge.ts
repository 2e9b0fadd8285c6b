/** Stories that the checker must judge rightly: each way in which one can be wrong is seen, and called by its name. */
import { expect, test } from 'vitest'
import { check } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import type { Kind } from '../finding.ts'

const kindsIn = (evidence: Evidence): Kind[] => [...new Set(check(evidence).findings.map(({ kind }) => kind))]

export function nothingIsWrongWith(stories: Readonly<Record<string, Evidence>>): void {
  test.each(Object.entries(stories))('nothing is wrong with %s', (_, evidence) => {
    expect(check(evidence).findings).toEqual([])
  })
}

export function theyAreCalled(stories: readonly [what: string, kind: Kind, evidence: Evidence][]): void {
  test.each(stories)('%s is reported as %s', (_, kind, evidence) => {
    expect(kindsIn(evidence)).toEqual([kind])
  })
}

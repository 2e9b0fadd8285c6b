/**
 * What can be wrong. The list is closed and in order: of several things that are wrong with one run the
 * first counts, because it explains the others; they are named beside it.
 */
export const KINDS = [
  /** Two grants of one run, and the later one has no higher fence. */
  'fence_not_growing',
  /** Two workers held a run at once, and nobody had taken it from the first. */
  'two_winners',
  /** Somebody who no longer held a run, a shard or a life wrote something, and it counted. */
  'stale_accepted',
  /** It was done again, or given to another, without a fault that explains it. */
  'doubled',
  /** It began before it was due, or before a retry was allowed. */
  'early',
  /** It began later than the bound, and no fault explains it. */
  'late',
  /** One run, or one attempt, has more than one row of history. */
  'history_doubled',
  /** It was performed, and history does not know. */
  'history_missing',
  /** Rows contradict one another, or what the sink saw. */
  'inconsistent',
  /** It was owed, and neither ran nor was skipped for a reason that holds. */
  'lost',
  /** It ran, and nobody had asked for it. */
  'unexpected',
  /** More were in progress at once than allowed. */
  'over_limit',
  /** Of two that waited behind a key with one place the later one went first. */
  'out_of_order',
] as const

export type Kind = (typeof KINDS)[number]

export interface Finding {
  readonly kind: Kind
  /** A sentence with the figures that prove it. */
  readonly what: string
  readonly taskId: string | null
  readonly runId: string | null
}

/** A finding, with what else is wrong with the same run. */
export interface Reported extends Finding {
  readonly also: readonly Finding[]
}

const rank = (finding: Finding) => KINDS.indexOf(finding.kind)

/** One report for each run; what concerns no single run is reported as it is. */
export function reportOf(findings: readonly Finding[]): Reported[] {
  const byRun = new Map<string, Finding[]>()
  for (const [i, finding] of findings.entries()) {
    const subject = finding.runId ?? `#${i}`
    byRun.set(subject, [...(byRun.get(subject) ?? []), finding])
  }
  return [...byRun.values()].flatMap((all) => {
    const [first, ...also] = all.sort((a, b) => rank(a) - rank(b))
    return first ? [{ ...first, also }] : []
  })
}

export const iso = (at: number) => (Number.isFinite(at) ? new Date(at).toISOString() : 'never')

/**
 * Kinds of findings, as a closed list in order: of several findings about one run the first kind counts, because it explains
 * the others; those are named beside it.
 */
export const KINDS = [
  /** A run was granted twice, and the later grant has no higher fence. */
  'fence_not_growing',
  /** Two workers held a run at once, and nobody had taken it from the first. */
  'two_winners',
  /** A worker or node wrote something after it had lost the run or the shard or had been declared dead, and it counted. */
  'stale_accepted',
  /** A run was performed again, or given to another worker, without a fault that explains it. */
  'doubled',
  /** A run began before it was due, or before a retry was allowed. */
  'early',
  /** A run began later than the bound, and no fault explains it. */
  'late',
  /** One run, or one attempt, has more than one row of history. */
  'history_doubled',
  /** A run was performed, and history does not contain it. */
  'history_missing',
  /** Rows contradict one another, or what the sink saw. */
  'inconsistent',
  /** An owed occurrence neither ran nor was skipped for a valid reason. */
  'lost',
  /** A run began, and nobody had requested it. */
  'unexpected',
  /** More runs were in progress at once than allowed. */
  'over_limit',
  /** Of two runs that waited behind a key with one slot, the later one went first. */
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

/** What users may choose about wall times that a clock change skips or repeats; wall-rule.ts acts on it. */

/** What happens to a wall time that the clocks skip: it is due right after the gap, or not at all. */
export const GAP_POLICIES = ['next', 'skip'] as const
export type GapPolicy = (typeof GAP_POLICIES)[number]

/** What happens to a wall time that the clocks show twice. */
export const FOLD_POLICIES = ['first', 'last', 'both'] as const
export type FoldPolicy = (typeof FOLD_POLICIES)[number]

/**
 * Overrides of the daylight saving rule. By default, fixed times (`30 2,14 * * *`, daily) fire once: right after a gap, and at
 * the first of two equal wall times; interval-like patterns (a star or step in second, minute or hour) fire at every wall time
 * that exists.
 */
export interface DaylightSavingChoice {
  readonly gap?: GapPolicy
  readonly fold?: FoldPolicy
}

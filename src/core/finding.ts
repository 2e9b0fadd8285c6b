/** What the audit can find out of order. */
export const FINDING_KINDS = [
  'next_row_lost',
  'resume_row_lost',
  'skip_row_lost',
  'ready_row_lost',
  'held_by_the_dead',
] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

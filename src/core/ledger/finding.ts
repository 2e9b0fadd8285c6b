/** The kinds of inconsistencies that the audit can find. */
export const FINDING_KINDS = [
  'next_row_lost',
  'one_off_lost',
  'resume_row_lost',
  'skip_row_lost',
  'ready_row_lost',
  'held_by_dead_node',
  'history_rows_lost',
] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

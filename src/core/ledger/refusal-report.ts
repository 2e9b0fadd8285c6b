/** Operations that fail because PostgreSQL rejects a row that they write. */
export const REFUSED_OPERATIONS = [
  'fire',
  'claim',
  'record',
  'reclaim',
  'expire',
  'supersede',
  'duty',
  'backfill',
  'tally',
  'audit',
  'subscription',
  'redrive',
  'log',
] as const
export type RefusedOperation = (typeof REFUSED_OPERATIONS)[number]

/** Each operation as the end of a sentence about the row that it failed for. */
export const REFUSED_WORDS: Readonly<Record<RefusedOperation, string>> = {
  fire: 'a due run cannot be started',
  claim: 'a pending run cannot be claimed',
  record: 'the outcome of a run cannot be recorded',
  reclaim: 'a run of a dead worker cannot be reclaimed',
  expire: 'a run cannot be ended after its queueTimeout',
  supersede: 'earlier runs cannot be cancelled in favour of the next one',
  duty: 'a pause cannot be ended, or an occurrence skipped, on time',
  backfill: 'a backfill cannot continue',
  tally: 'a minute of history cannot be counted',
  audit: 'a missing row cannot be restored',
  subscription: 'a subscription cannot be delivered',
  redrive: 'a redrive cannot continue',
  log: 'a part of the log of a run cannot be stored',
}

/** What can be followed, and how that which became visible in it is found. */

import { isAfter, type Place, type Search } from '../core/run/frontier.ts'
import type { EventSource, HistoryEvent } from '../core/run/history-event.ts'
import {
  auditLogBegin,
  entriesBetween,
  entriesOfTransactions,
  recordedEntries,
} from '../store/audit-log/followed-entries.ts'
import type { Queryable } from '../store/database/database.ts'
import type { Statement } from '../store/database/sql.ts'
import {
  circuitEvents,
  type EndsQuery,
  endedRuns,
  endsBetween,
  endsOfTransactions,
  type FoundPlace,
  lateEnds,
  type StraysQuery,
} from '../store/history/ended-runs.ts'
import { historyBegin } from '../store/history/run-search.ts'

/** Where an event stands; in history, whether it is one of a circuit. */
export type TailPlace = Place & Partial<Pick<FoundPlace, 'isCircuit'>>

/** The statements that follow one source. */
export interface TailSource {
  /** When the oldest rows begin that are kept. */
  begin(): Statement<{ at: number | null }>
  /** Places of a stretch of time that became visible between two frontiers. */
  between(query: EndsQuery): Statement<TailPlace>
  /** Places of rows that carry an instant long before they were stored; null where there are none such. */
  late: ((query: StraysQuery & { storedFromUs: number }) => Statement<TailPlace>) | null
  /** Places of what long transactions have stored. */
  ofTransactions(
    query: StraysQuery & { long: NonNullable<Search['long']>; xmax: number },
  ): Statement<TailPlace>
  /** The events at some places, in order. */
  eventsAt(tx: Queryable, places: readonly TailPlace[], xmax: number): Promise<HistoryEvent[]>
}

export const TAIL_SOURCES: { readonly [S in EventSource]: TailSource } = {
  history: {
    begin: historyBegin,
    between: endsBetween,
    late: lateEnds,
    ofTransactions: endsOfTransactions,
    eventsAt: async (tx, places, xmax) => {
      const [circuits, ends] = [places.filter((one) => one.isCircuit), places.filter((one) => !one.isCircuit)]
      const runs = ends.length === 0 ? [] : await tx.run(endedRuns({ places: ends, xmax }))
      if (circuits.length === 0) return runs
      const changes = await tx.run(circuitEvents({ places: circuits, xmax }))
      return [...runs, ...changes].sort((a, b) => (isAfter(a, b) ? 1 : -1))
    },
  },
  'audit-log': {
    begin: auditLogBegin,
    between: entriesBetween,
    late: null,
    ofTransactions: entriesOfTransactions,
    eventsAt: async (tx, places, xmax) =>
      places.length === 0 ? [] : tx.run(recordedEntries({ places, xmax })),
  },
}

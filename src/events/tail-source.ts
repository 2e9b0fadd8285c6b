/** The sources that can be followed, and the statements that find what became visible in them. */

import { isAfter, type Place } from '../core/run/frontier.ts'
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
  endedRuns,
  endsBetween,
  endsOfTransactions,
  type FoundPlace,
  lateEnds,
} from '../store/history/ended-runs.ts'
import { auditLogKept, historyKept, type Kept } from '../store/history/retention.ts'
import { historyBegin } from '../store/history/run-search.ts'
import type { EndsQuery, StraysQuery, TransactionsQuery } from '../store/history/visible-rows.ts'

/** The place of an event; for history, also whether it is a circuit event. */
export type TailPlace = Place & Partial<Pick<FoundPlace, 'isCircuit'>>

/** The statements that follow one source. */
export interface TailSource {
  /** Returns when the oldest retained rows begin. */
  begin(): Statement<{ at: number | null }>
  /** Returns from when on everything is kept of a project. */
  kept(projectId: string): Statement<Kept>
  /** Finds the places in a time range whose rows became visible between two frontiers. */
  between(query: EndsQuery): Statement<TailPlace>
  /** Finds the places of rows whose instant is long before they were stored; null if there are no such rows. */
  late: ((query: StraysQuery & { storedFromUs: number }) => Statement<TailPlace>) | null
  /** Finds the places of rows stored by long transactions. */
  ofTransactions(query: TransactionsQuery): Statement<TailPlace>
  /** Returns the events at some places, in order. */
  eventsAt(tx: Queryable, places: readonly TailPlace[], xmax: number): Promise<HistoryEvent[]>
}

export const TAIL_SOURCES: { readonly [S in EventSource]: TailSource } = {
  history: {
    begin: historyBegin,
    kept: historyKept,
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
    kept: auditLogKept,
    between: entriesBetween,
    late: null,
    ofTransactions: entriesOfTransactions,
    eventsAt: async (tx, places, xmax) =>
      places.length === 0 ? [] : tx.run(recordedEntries({ places, xmax })),
  },
}

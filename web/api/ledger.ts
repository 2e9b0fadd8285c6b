/** The ledger of a task. */
import { queryOptions } from '@tanstack/react-query'
import { get, queryOf } from './client.ts'
import type { Ledger } from './wire.ts'

const SHOWN = 200

/** Covers the last day, or less for a task that is due very often. */
export const ledgerQuery = (taskId: string, show: 'problems' | 'skipped' | 'failed' | 'ran') =>
  queryOptions({
    queryKey: ['ledger', taskId, show],
    queryFn: ({ signal }) =>
      get<Ledger>(`/v1/tasks/${encodeURIComponent(taskId)}/ledger${queryOf({ show, limit: SHOWN })}`, signal),
    refetchInterval: 10_000,
  })

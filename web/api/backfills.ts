/** Backfills: runs for occurrences of the past. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get, post, queryOf } from './client.ts'
import type { Backfill, BackfillInput, BackfillPreview, Page } from './wire.ts'

const PAGE_SIZE = 20

export const backfillKeys = { ofTask: (taskId: string) => ['backfills', taskId] as const }

export const backfillsQuery = (taskId: string) =>
  infiniteQueryOptions({
    queryKey: backfillKeys.ofTask(taskId),
    queryFn: ({ pageParam, signal }) =>
      get<Page<Backfill>>(
        `/v1/tasks/${taskId}/backfills${queryOf({ limit: PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** What a backfill would do; nothing is stored. */
export const backfillPreviewQuery = (taskId: string, input: BackfillInput | null) =>
  queryOptions({
    queryKey: ['backfill-preview', taskId, input],
    queryFn: () => post<BackfillPreview>(`/v1/tasks/${taskId}/backfill`, { ...input, dryRun: true }),
    enabled: input !== null,
    staleTime: 10_000,
  })

export const beginBackfill = (taskId: string, input: BackfillInput): Promise<Backfill> =>
  post(`/v1/tasks/${taskId}/backfill`, input, { 'idempotency-key': crypto.randomUUID() })

export const cancelBackfill = (id: string): Promise<Backfill> => post(`/v1/backfills/${id}/cancel`)

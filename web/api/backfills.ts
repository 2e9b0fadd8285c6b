/** Backfills: runs for past occurrences. */
import { queryOptions } from '@tanstack/react-query'
import { post } from './client.ts'
import { inPages } from './pages.ts'
import type { Backfill, BackfillInput, BackfillPreview } from './wire.ts'

const PAGE_SIZE = 20

export const backfillKeys = { ofTask: (taskId: string) => ['backfills', taskId] as const }

export const backfillsQuery = (taskId: string) =>
  inPages<Backfill>({
    queryKey: backfillKeys.ofTask(taskId),
    path: `/v1/tasks/${taskId}/backfills`,
    limit: PAGE_SIZE,
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
  post(`/v1/tasks/${taskId}/backfill`, input, { headers: { 'idempotency-key': crypto.randomUUID() } })

export const cancelBackfill = (id: string): Promise<Backfill> => post(`/v1/backfills/${id}/cancel`)

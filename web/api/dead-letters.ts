/** Dead letters: permanently failed runs that were neither rerun nor dismissed. */
import { queryOptions } from '@tanstack/react-query'
import { type ChangeOptions, get, post, queryOf } from './client.ts'
import { inPages } from './pages.ts'
import type {
  DeadLetter,
  Dismissed,
  LetterFilter,
  LetterGroups,
  Page,
  Redrive,
  RedriveForecast,
} from './wire.ts'

export type LetterGroup = LetterGroups['items'][number]

const PAGE_SIZE = 20
const GROUPS_SHOWN = 100
const REDRIVES_SHOWN = 5
const REFRESH_MS = 5_000

export const letterKeys = { all: ['dead-letters'] as const }

/** The part of the filter that an address can hold; single runs are named only by actions. */
type AddressFilter = Omit<LetterFilter, 'runIds'>

export const groupsQuery = (by: string, filter: AddressFilter) =>
  queryOptions({
    queryKey: [...letterKeys.all, 'groups', by, filter],
    queryFn: ({ signal }) =>
      get<LetterGroups>(`/v1/dead-letters/groups${queryOf({ by, ...filter, limit: GROUPS_SHOWN })}`, signal),
    refetchInterval: REFRESH_MS,
  })

export const lettersQuery = (filter: AddressFilter) => ({
  ...inPages<DeadLetter>({
    queryKey: [...letterKeys.all, 'runs', filter],
    path: '/v1/dead-letters',
    filter,
    limit: PAGE_SIZE,
  }),
  refetchInterval: REFRESH_MS,
})

/** How many runs a redrive would create, before it is started. */
export const forecastQuery = (filter: LetterFilter) =>
  queryOptions({
    queryKey: ['redrive-forecast', filter],
    queryFn: () => post<RedriveForecast>('/v1/dead-letters/redrive', { filter, dryRun: true }),
  })

export const redrive = (filter: LetterFilter, rate: number, options?: ChangeOptions): Promise<Redrive> =>
  post('/v1/dead-letters/redrive', { filter, rate }, options)

export const cancelRedrive = (id: string): Promise<Redrive> => post(`/v1/dead-letters/redrives/${id}/cancel`)

/** Dismisses all that match; each request dismisses some, perhaps none, and reports where to continue. */
export async function dismiss(filter: LetterFilter, options?: ChangeOptions): Promise<number> {
  let count = 0
  let cursor: string | undefined
  for (;;) {
    const done = await post<Dismissed>('/v1/dead-letters/dismiss', { filter, cursor }, options)
    count += done.count
    if (!done.nextCursor) return count
    cursor = done.nextCursor
  }
}

/** Polling interval while a redrive is in progress. */
const GOING_MS = 1_000

export const redrivesQuery = queryOptions({
  queryKey: ['redrives'],
  queryFn: async ({ signal }) =>
    (await get<Page<Redrive>>(`/v1/dead-letters/redrives${queryOf({ limit: REDRIVES_SHOWN })}`, signal))
      .items,
  refetchInterval: ({ state }) =>
    state.data?.some((item) => item.state === 'running') ? GOING_MS : REFRESH_MS,
})

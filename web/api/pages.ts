/** Paginated lists of the API. */
import { type InfiniteData, infiniteQueryOptions } from '@tanstack/react-query'
import { get, queryOf } from './client.ts'
import type { Page } from './wire.ts'

interface Pages {
  readonly queryKey: readonly unknown[]
  readonly path: string
  readonly filter?: Parameters<typeof queryOf>[0]
  readonly limit: number
}

/** Reads one page after another by cursor. */
export const inPages = <T>({ queryKey, path, filter, limit }: Pages) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      get<Page<T>>(path + queryOf({ ...filter, limit, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** The items of all pages read so far. */
export const itemsOf = <T>(data: InfiniteData<Page<T>> | undefined): readonly T[] =>
  data?.pages.flatMap(({ items }) => items) ?? []

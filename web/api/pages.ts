/** Lists that the API answers in pages. */
import { type InfiniteData, infiniteQueryOptions } from '@tanstack/react-query'
import { get, queryOf } from './client.ts'
import type { Page } from './wire.ts'

interface Pages {
  readonly queryKey: readonly unknown[]
  readonly path: string
  readonly filter?: Parameters<typeof queryOf>[0]
  readonly limit: number
}

/** One page after another, each from where the one before ended. */
export const inPages = <T>({ queryKey, path, filter, limit }: Pages) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      get<Page<T>>(path + queryOf({ ...filter, limit, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

/** What was read so far, of all pages. */
export const itemsOf = <T>(data: InfiniteData<Page<T>> | undefined): readonly T[] =>
  data?.pages.flatMap(({ items }) => items) ?? []

import { useEffect } from 'react'

/** The state of a query; one without pages has no next page. */
export interface Pages {
  readonly isPending: boolean
  readonly isError: boolean
  readonly hasNextPage?: boolean
  readonly isFetchingNextPage?: boolean
  readonly fetchNextPage?: () => Promise<unknown>
}

/**
 * Continues a search that examined many rows and returned none, until it finds something or reaches the end. Returns whether it
 * is still searching.
 */
export function useUntilFound(query: Pages, found: number): boolean {
  const { isPending, isError, hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query
  const isLooking = found === 0 && hasNextPage && !isError
  useEffect(() => {
    if (isLooking && !isFetchingNextPage) void fetchNextPage?.()
  }, [isLooking, isFetchingNextPage, fetchNextPage])
  return isPending || isLooking
}

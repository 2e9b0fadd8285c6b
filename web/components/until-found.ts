import { useEffect } from 'react'

/** What a query knows of itself; one that is not read in pages has no next one. */
export interface Pages {
  readonly isPending: boolean
  readonly isError: boolean
  readonly hasNextPage?: boolean
  readonly isFetchingNextPage?: boolean
  readonly fetchNextPage?: () => Promise<unknown>
}

/**
 * Follows a search that had to look far and came back with nothing, until it finds something or has looked at everything.
 * Tells whether it is still looking.
 */
export function useUntilFound(query: Pages, found: number): boolean {
  const { isPending, isError, hasNextPage = false, isFetchingNextPage = false, fetchNextPage } = query
  const isLooking = found === 0 && hasNextPage && !isError
  useEffect(() => {
    if (isLooking && !isFetchingNextPage) void fetchNextPage?.()
  }, [isLooking, isFetchingNextPage, fetchNextPage])
  return isPending || isLooking
}

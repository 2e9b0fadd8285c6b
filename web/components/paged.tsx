/** A list from the server: on its way, refused, empty, or there, with the way to the rest of it. */
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Failure } from './failure.tsx'
import classes from './paged.module.css'
import { Bones } from './panel.tsx'
import { type Pages, useUntilFound } from './until-found.ts'

interface ListQuery extends Pages {
  readonly data: unknown
  readonly error: unknown
  readonly refetch: () => Promise<unknown>
}

interface PagedProps {
  readonly query: ListQuery
  /** How many are read so far. */
  readonly count: number
  /** As many as the list is likely to have. */
  readonly bones: number
  /** Stands where the list would, were there anything in it. */
  readonly nothing: ReactNode
  readonly children: ReactNode
}

export function Paged({ query, count, bones, nothing, children }: PagedProps) {
  const isSearching = useUntilFound(query, count)
  if (isSearching) return <Bones count={bones} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return count === 0 ? nothing : children
}

interface MoreProps {
  readonly query: Pick<ListQuery, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
  readonly children: string
}

/** Reads the next page, where there is one. */
export function More({ query, children }: MoreProps) {
  if (!query.hasNextPage) return null
  return (
    <div className={classes.more}>
      <Button
        variant="default"
        loading={query.isFetchingNextPage ?? false}
        onClick={() => void query.fetchNextPage?.()}
      >
        {children}
      </Button>
    </div>
  )
}

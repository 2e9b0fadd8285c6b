/** A list from the server in all its states: loading, refused, empty, or loaded with a button for the next page. */
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
  /** Number of rows read so far. */
  readonly count: number
  /** Number of placeholder rows, about as many as the list is likely to have. */
  readonly bones: number
  /** Shown if the list is empty. */
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

/** Reads the next page, if there is one. */
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

import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { runsOfTaskQuery } from '../../api/runs.ts'
import { REFRESH_MS } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { RunTable } from '../../components/run-table.tsx'
import classes from './parts.module.css'

/** Further pages are asked for again only when something tells of a change. */
const FEW_PAGES = 1

export function RunsOfTask({ task }: { readonly task: Task }) {
  const query = useInfiniteQuery({
    ...runsOfTaskQuery(task.id),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > FEW_PAGES ? false : REFRESH_MS),
  })
  const runs = query.data?.pages.flatMap(({ items }) => items) ?? []
  if (query.isPending) return <Bones count={4} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (runs.length === 0)
    return (
      <p className={classes.nothing}>
        It has not run yet.{' '}
        {task.nextFireAt ? 'It will by itself; Run now does not wait for that.' : 'Run now starts it.'}
      </p>
    )
  return (
    <Panel title="Runs, latest first" flush>
      <RunTable runs={runs} zone={task.timezone} label="Runs" />
      {query.hasNextPage && (
        <div className={classes.more}>
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Earlier runs
          </Button>
        </div>
      )}
    </Panel>
  )
}

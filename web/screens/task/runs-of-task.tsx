import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { runsOfTaskQuery } from '../../api/runs.ts'
import type { Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { Failure } from '../../components/failure.tsx'
import { FreshRows } from '../../components/fresh-rows.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { RunTable } from '../../components/run-table.tsx'
import classes from './parts.module.css'

export function RunsOfTask({ task }: { readonly task: Task }) {
  const options = runsOfTaskQuery(task.id)
  const query = useInfiniteQuery({ ...options, refetchInterval: refreshMs })
  const runs = query.data?.pages.flatMap(({ items }) => items) ?? []
  if (query.isPending) return <Bones count={4} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (runs.length === 0)
    return (
      <Nothing
        words={`No runs yet. ${task.nextFireAt ? 'It runs on schedule; use Run now to start it immediately.' : 'Use Run now to start it.'}`}
      />
    )
  return (
    <Panel title="Runs, latest first" flush>
      <FreshRows queryKey={options.queryKey} />
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

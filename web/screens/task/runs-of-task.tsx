import { useInfiniteQuery } from '@tanstack/react-query'
import { itemsOf } from '../../api/pages.ts'
import { runsOfTaskQuery } from '../../api/runs.ts'
import type { Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { FreshRows } from '../../components/fresh-rows.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { RunTable } from '../../components/run-table.tsx'

export function RunsOfTask({ task }: { readonly task: Task }) {
  const options = runsOfTaskQuery(task.id)
  const query = useInfiniteQuery({ ...options, refetchInterval: refreshMs })
  const runs = itemsOf(query.data)
  const nothing = (
    <Nothing
      words={`No runs yet. ${task.nextFireAt ? 'It runs on schedule; use Run now to start it immediately.' : 'Use Run now to start it.'}`}
    />
  )
  return (
    <Paged query={query} count={runs.length} bones={4} nothing={nothing}>
      <Panel title="Runs, latest first" flush>
        <FreshRows queryKey={options.queryKey} />
        <RunTable runs={runs} zone={task.timezone} label="Runs" />
        <More query={query}>Earlier runs</More>
      </Panel>
    </Paged>
  )
}

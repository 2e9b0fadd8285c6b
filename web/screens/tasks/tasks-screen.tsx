/** The tasks, newest first, filtered according to the address. */
import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { statsQuery } from '../../api/overview.ts'
import { itemsOf } from '../../api/pages.ts'
import { tasksQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { countWords } from '../../components/count-words.ts'
import { DeleteTask } from '../../components/delete-task.tsx'
import { Failure } from '../../components/failure.tsx'
import { FreshRows } from '../../components/fresh-rows.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { useUntilFound } from '../../components/until-found.ts'
import { BulkBar } from './bulk-bar.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useSelection } from './selection.ts'
import { TaskList } from './task-list.tsx'
import classes from './tasks-screen.module.css'

const route = getRouteApi('/tasks')
/** A count of this age is good enough for the heading of a list. */
const COUNTED_MS = 30_000

export function TasksScreen() {
  const filters = route.useSearch()
  const { tz: _, row: __, ...filter } = filters as typeof filters & { tz?: string }
  const options = tasksQuery(filter)
  const query = useInfiniteQuery({ ...options, refetchInterval: refreshMs })
  const [asked, setAsked] = useState<Task | null>(null)
  const tasks = useMemo(() => itemsOf(query.data), [query.data])
  const isSearching = useUntilFound(query, tasks.length)
  // The dialog describes the task as it is now, not as it was when the row was clicked.
  const deleting = asked && (tasks.find(({ id }) => id === asked.id) ?? asked)
  const selection = useSelection(tasks)
  const isFiltered = Object.keys(filter).length > 0
  return (
    <Screen
      title="Tasks"
      aside={
        query.isSuccess &&
        !isSearching && <Count count={tasks.length} isAll={!query.hasNextPage} isFiltered={isFiltered} />
      }
    >
      <FilterBar filters={filter} />
      {isSearching && <Bones count={8} />}
      {query.isError && !query.data && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && !isSearching && tasks.length === 0 && <NoTasks isFiltered={isFiltered} />}
      <FreshRows queryKey={options.queryKey} />
      {tasks.length > 0 && (
        <TaskList
          tasks={tasks}
          selection={selection}
          hasMore={query.hasNextPage}
          isLoadingMore={query.isFetchingNextPage}
          onMore={() => void query.fetchNextPage()}
          onDelete={setAsked}
        />
      )}
      <BulkBar selection={selection} filter={filter} hasMore={query.hasNextPage} />
      {deleting && <DeleteTask task={deleting} onClose={() => setAsked(null)} />}
    </Screen>
  )
}

interface CountProps {
  /** Number of tasks loaded so far. */
  readonly count: number
  readonly isAll: boolean
  readonly isFiltered: boolean
}

/** The total is known only without filters, from the overview. */
function Count({ count: shown, isAll, isFiltered }: CountProps) {
  const { data } = useQuery({
    ...statsQuery,
    refetchInterval: false,
    staleTime: COUNTED_MS,
    enabled: !isAll && !isFiltered,
  })
  const total = isAll || isFiltered ? undefined : data?.tasks.total
  const of = total && total.count > shown ? ` of ${countWords(total)}` : ''
  return (
    <span className={classes.count} role="status">
      {formatCount(shown)}
      {of || (isAll ? '' : '+')} {shown === 1 && isAll ? 'task' : 'tasks'}
    </span>
  )
}

function NoTasks({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No tasks match these filters.">
      <Link to="/tasks" search={{}}>
        Show all tasks
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No tasks yet.">
      <Button renderRoot={(props) => <Link to="/tasks/new" {...props} />}>Create your first task</Button>
    </Nothing>
  )
}

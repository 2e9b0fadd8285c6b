/** One task: its state, its runs, its next occurrences and its definition. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useIsGone } from '../../api/gone.ts'
import { taskQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { type LedgerShown, TASK_TABS, type TaskPanel, type TaskTab } from '../../app/router.tsx'
import { GoneTask } from '../../components/gone-task.tsx'
import { Bones } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { titleOf } from '../../components/task-acts.tsx'
import { useTitle } from '../../components/title.ts'
import { Unread } from '../../components/unread.tsx'
import { Definition } from './definition.tsx'
import { Ledger } from './ledger.tsx'
import { RunsOfTask } from './runs-of-task.tsx'
import { TaskFacts } from './task-facts.tsx'
import { TaskActs, TaskState } from './task-head.tsx'
import classes from './task-screen.module.css'
import { Upcoming } from './upcoming.tsx'
import { Why } from './why.tsx'

const TaskPanels = lazy(() => import('./panels/task-panels.tsx').then((m) => ({ default: m.TaskPanels })))
const Versions = lazy(() => import('./versions.tsx').then((m) => ({ default: m.Versions })))
const Backfills = lazy(() => import('./backfills.tsx').then((m) => ({ default: m.Backfills })))

const route = getRouteApi('/tasks/$taskId')

export function TaskScreen() {
  const { taskId } = route.useParams()
  const { tab = 'runs', panel, show, at } = route.useSearch()
  const navigate = useNavigate()
  const isGone = useIsGone(taskId)
  const query = useQuery({ ...taskQuery(taskId), refetchInterval: refreshMs, enabled: !isGone })
  const { data: task, error, refetch } = query
  useTitle(task ? titleOf(task) : 'Task')
  if (isGone) return <GoneTask title={task ? titleOf(task) : 'This task'} />
  if (error && !task) return <Unread what="task" id={taskId} error={error} onRetry={() => void refetch()} />
  if (!task) return <Bones count={5} />
  // The open panel is in the address; undefined closes it.
  const open = (opened: TaskPanel | undefined) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, panel: opened }) as never,
      replace: opened === undefined,
      resetScroll: false,
    })
  return (
    <Screen
      title={titleOf(task)}
      state={<TaskState task={task} />}
      aside={<TaskActs task={task} onOpen={open} />}
    >
      <TaskFacts task={task} />
      <Why task={task} at={at} />
      <Tabs task={task} tab={tab} />
      <Suspense fallback={<Bones count={3} />}>
        <Tab task={task} tab={tab} show={show} />
      </Suspense>
      <Suspense>{panel && <TaskPanels task={task} panel={panel} onClose={() => open(undefined)} />}</Suspense>
    </Screen>
  )
}

interface TabProps {
  readonly task: Task
  readonly tab: TaskTab
  readonly show: LedgerShown | undefined
}

function Tab({ task, tab, show }: TabProps) {
  switch (tab) {
    case 'runs':
      return <RunsOfTask task={task} />
    case 'upcoming':
      return <Upcoming task={task} />
    case 'ledger':
      return <Ledger task={task} show={show ?? 'problems'} />
    case 'backfills':
      return <Backfills task={task} />
    case 'versions':
      return <Versions task={task} />
    case 'definition':
      return <Definition task={task} />
  }
}

const TAB_WORDS: Readonly<Record<TaskTab, string>> = {
  runs: 'Runs',
  upcoming: 'Upcoming',
  ledger: 'Ledger',
  backfills: 'Backfills',
  versions: 'Versions',
  definition: 'Definition',
}

function Tabs({ task, tab }: { readonly task: Task; readonly tab: TaskTab }) {
  return (
    <nav className={classes.tabs} aria-label="Task sections">
      {TASK_TABS.map((name) => (
        <Link
          key={name}
          to="/tasks/$taskId"
          params={{ taskId: task.id }}
          search={name === 'runs' ? {} : { tab: name }}
          // Otherwise every tab would count as a link to the current page.
          activeOptions={{ exact: true }}
          aria-current={name === tab ? 'page' : undefined}
          replace
          className={classes.tab}
        >
          {TAB_WORDS[name]}
        </Link>
      ))}
    </nav>
  )
}

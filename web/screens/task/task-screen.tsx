/** One task: how it stands, what became of it, what comes, and how it is defined. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { actionWords } from '../../../src/core/words/action.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import { useIsGone } from '../../api/gone.ts'
import { taskQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { TASK_TABS, type TaskTab } from '../../app/router.tsx'
import { DeleteTask } from '../../components/delete-task.tsx'
import { Failure } from '../../components/failure.tsx'
import { GoneTask } from '../../components/gone-task.tsx'
import { Icon } from '../../components/icon.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { Bones } from '../../components/panel.tsx'
import { RunStrip } from '../../components/run-strip.tsx'
import { ScheduleText } from '../../components/schedule-text.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { isOver, runNow, titleOf, togglePause } from '../../components/task-acts.tsx'
import { useTitle } from '../../components/title.ts'
import { Definition } from './definition.tsx'
import { Ledger } from './ledger.tsx'
import { RunsOfTask } from './runs-of-task.tsx'
import classes from './task-screen.module.css'
import { Upcoming } from './upcoming.tsx'
import { Why } from './why.tsx'

const route = getRouteApi('/tasks/$taskId')

export function TaskScreen() {
  const { taskId } = route.useParams()
  const { tab = 'runs' } = route.useSearch()
  const isGone = useIsGone(taskId)
  const query = useQuery({ ...taskQuery(taskId), refetchInterval: refreshMs, enabled: !isGone })
  const { data: task, error, refetch } = query
  useTitle(task ? titleOf(task) : 'Task')
  if (isGone) return <GoneTask title={task ? titleOf(task) : 'This task'} />
  if (error && !task) return <Failure error={error} onRetry={() => void refetch()} />
  if (!task) return <Bones count={5} />
  return (
    <div className={classes.screen}>
      <Head task={task} />
      <Facts task={task} />
      {task.state !== 'running' && <Why task={task} />}
      <Tabs task={task} tab={tab} />
      {tab === 'runs' && <RunsOfTask task={task} />}
      {tab === 'upcoming' && <Upcoming task={task} />}
      {tab === 'ledger' && <Ledger task={task} />}
      {tab === 'definition' && <Definition task={task} />}
    </div>
  )
}

function Head({ task }: { readonly task: Task }) {
  const navigate = useNavigate()
  const [isDeleting, setDeleting] = useState(false)
  const params = { taskId: task.id }
  return (
    <div className={classes.head}>
      <div className={classes.titles}>
        <h1>{titleOf(task)}</h1>
        <span className={classes.state}>
          <StateMark state={task.state} />
          <span className={classes.small}>version {task.version}</span>
        </span>
      </div>
      <div className={classes.acts}>
        <Button leftSection={<Icon name="play" size={16} />} onClick={() => void runNow(task)}>
          Run now
        </Button>
        {!isOver(task) && (
          <Button
            variant="default"
            leftSection={<Icon name={task.state === 'paused' ? 'again' : 'pause'} size={16} />}
            onClick={() => void togglePause(task)}
          >
            {task.state === 'paused' ? 'Resume' : 'Pause'}
          </Button>
        )}
        {task.state !== 'cancelled' && (
          <Button
            variant="default"
            leftSection={<Icon name="edit" size={16} />}
            renderRoot={(props) => <Link to="/tasks/$taskId/edit" params={params} {...props} />}
          >
            Edit
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<Icon name="clone" size={16} />}
          renderRoot={(props) => <Link to="/tasks/new" search={{ from: task.id }} {...props} />}
        >
          Clone
        </Button>
        <Button
          variant="default"
          leftSection={<Icon name="trash" size={16} />}
          onClick={() => setDeleting(true)}
        >
          Delete
        </Button>
      </div>
      {isDeleting && (
        <DeleteTask
          task={task}
          onClose={() => setDeleting(false)}
          onDeleted={() => void navigate({ to: '/tasks' })}
        />
      )}
    </div>
  )
}

function Facts({ task }: { readonly task: Task }) {
  return (
    <dl className={classes.facts}>
      <div>
        <dt>Schedule</dt>
        <dd>
          <ScheduleText schedule={task.schedule} />
        </dd>
      </div>
      <div>
        <dt>Next</dt>
        <dd>{task.nextFireAt ? <Next task={task} at={task.nextFireAt} /> : nothingNext(task)}</dd>
      </div>
      <div>
        <dt>Action</dt>
        <dd className={classes.action}>{actionWords(task.action)}</dd>
      </div>
      <div>
        <dt>If it fails</dt>
        <dd>
          {task.retry.limit === 0
            ? 'no retry'
            : `${task.retry.limit} retries, from ${task.retry.initial} to ${task.retry.max}`}
        </dd>
      </div>
      {task.recent && (
        <div>
          <dt>Last 20</dt>
          <dd>
            <RunStrip recent={task.recent} isOnItsWay={task.openRun !== null} />
          </dd>
        </div>
      )}
      {task.recent?.[0] && (
        <div>
          <dt>How it goes</dt>
          <dd>
            <Going recent={task.recent} />
          </dd>
        </div>
      )}
      {(task.tags.length > 0 || task.owner) && (
        <div>
          <dt>Tags and owner</dt>
          <dd className={classes.tags}>
            {task.tags.map((tag) => (
              <Link key={tag} to="/tasks" search={{ tag }} className={classes.tag}>
                {tag}
              </Link>
            ))}
            {task.owner && (
              <Link to="/tasks" search={{ owner: task.owner }}>
                {task.owner}
              </Link>
            )}
          </dd>
        </div>
      )}
    </dl>
  )
}

/** The latest run, and how long the last ones that completed took. */
function Going({ recent }: { readonly recent: NonNullable<Task['recent']> }) {
  const [last] = recent
  const took = recent
    .flatMap(({ state, durationMs }) => (state === 'completed' && durationMs !== null ? [durationMs] : []))
    .toSorted((one, other) => one - other)
  const percentile = (share: number) => formatDuration(took[Math.ceil(took.length * share) - 1] ?? 0)
  return (
    <>
      {last && (
        <Link to="/runs/$runId" params={{ runId: last.id }} className={classes.last}>
          <StateMark state={last.state} {...(last.reason ? { text: `skipped: ${last.reason}` } : {})} />
        </Link>
      )}
      {last?.latenessMs != null && ` ${formatDuration(last.latenessMs)} late`}
      {took.length > 0 && `, took p50 ${percentile(0.5)}, p95 ${percentile(0.95)}`}
    </>
  )
}

function Next({ task, at }: { readonly task: Task; readonly at: string }) {
  return (
    <>
      <Distance at={at} /> · <Instant at={at} zone={task.timezone} />
    </>
  )
}

function nothingNext(task: Task) {
  if (task.state === 'paused')
    return (
      <>
        paused
        {task.pausedAt && (
          <>
            {' '}
            since <Instant at={task.pausedAt} zone={task.timezone} />
          </>
        )}
      </>
    )
  return task.schedule.type === 'manual' && !isOver(task) ? 'when triggered' : 'nothing more'
}

const TAB_WORDS: Readonly<Record<TaskTab, string>> = {
  runs: 'Runs',
  upcoming: 'Upcoming',
  ledger: 'Ledger',
  definition: 'Definition',
}

function Tabs({ task, tab }: { readonly task: Task; readonly tab: TaskTab }) {
  return (
    <nav className={classes.tabs} aria-label="Parts of this task">
      {TASK_TABS.map((name) => (
        <Link
          key={name}
          to="/tasks/$taskId"
          params={{ taskId: task.id }}
          search={name === 'runs' ? {} : { tab: name }}
          replace
          className={classes.tab}
          aria-current={name === tab ? 'page' : undefined}
        >
          {TAB_WORDS[name]}
        </Link>
      ))}
    </nav>
  )
}

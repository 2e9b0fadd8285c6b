/** What a task does, when, and how it goes, at a glance. */
import { Link } from '@tanstack/react-router'
import { actionWords } from '../../../src/core/words/action.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import { Distance, Instant } from '../../components/instant.tsx'
import { RunStrip } from '../../components/run-strip.tsx'
import { ScheduleText } from '../../components/schedule-text.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { isOver } from '../../components/task-acts.tsx'
import classes from './task-screen.module.css'

export function TaskFacts({ task }: { readonly task: Task }) {
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
            <RunStrip recent={task.recent} isOnItsWay={task.openRun !== null} zone={task.timezone} />
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
      {task.skipNext && (
        <span className={classes.aside}>
          what is due up to <Instant at={task.skipNext.until} zone={task.timezone} /> is skipped
          {task.skipNext.reason && `: ${task.skipNext.reason}`}
        </span>
      )}
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
        {task.resumeAt && (
          <>
            {' '}
            until <Instant at={task.resumeAt} zone={task.timezone} />
          </>
        )}
        {task.pauseReason && `: ${task.pauseReason}`}
      </>
    )
  return task.schedule.type === 'manual' && !isOver(task) ? 'when triggered' : 'nothing more'
}

/** Key facts about a task: its action, its schedule and its recent runs. */

import { Link } from '@tanstack/react-router'
import { actionWords } from '../../../src/core/words/action.ts'
import { lateOrEarly } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import { durationWords, inOnePiece } from '../../components/duration-words.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { RunStrip } from '../../components/run-strip.tsx'
import { ScheduleText } from '../../components/schedule-text.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { isOver } from '../../components/task-acts.tsx'
import classes from './task-screen.module.css'

export function TaskFacts({ task }: { readonly task: Task }) {
  return (
    <Facts>
      <Fact label="Schedule">
        <ScheduleText schedule={task.schedule} />
      </Fact>
      <Fact label="Next run">
        {task.nextFireAt ? <Next task={task} at={task.nextFireAt} /> : nothingNext(task)}
      </Fact>
      <Fact label="Action">{actionWords(task.action)}</Fact>
      <Fact label="On failure">{retryWords(task)}</Fact>
      {task.recent && (
        <Fact label="Last 20 runs">
          <RunStrip recent={task.recent} isOnItsWay={task.openRun !== null} zone={task.timezone} />
        </Fact>
      )}
      {task.recent?.[0] && (
        <Fact label="Performance">
          <Going recent={task.recent} />
        </Fact>
      )}
      {(task.tags.length > 0 || task.owner) && (
        <Fact label="Tags and owner">
          <span className={classes.tags}>
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
          </span>
        </Fact>
      )}
    </Facts>
  )
}

function retryWords({ retry: { limit, initial, max } }: Task): string {
  if (limit === 0) return 'no retries'
  if (limit === 1) return `1 retry, after up to ${durationWords(initial)}`
  return `${limit} retries, after up to ${durationWords(initial)}, then up to ${durationWords(max)}`
}

/** The latest run, and the typical duration of recently completed ones. */
function Going({ recent }: { readonly recent: NonNullable<Task['recent']> }) {
  const [last] = recent
  const took = recent
    .flatMap(({ state, durationMs }) => (state === 'completed' && durationMs !== null ? [durationMs] : []))
    .toSorted((one, other) => one - other)
  const percentile = (share: number) => inOnePiece(took[Math.ceil(took.length * share) - 1] ?? 0)
  return (
    <>
      {last && (
        <Link to="/runs/$runId" params={{ runId: last.id }} className={classes.last}>
          <StateMark state={last.state} {...(last.reason ? { text: `skipped: ${last.reason}` } : {})} />
        </Link>
      )}
      {last?.latenessMs != null && `, ${lateOrEarly(last.latenessMs).replaceAll(' ', '\u00a0')}`}
      {took.length === 1 && ` · duration ${percentile(1)}`}
      {took.length > 1 && ` · duration p50 ${percentile(0.5)}, p95 ${percentile(0.95)}`}
    </>
  )
}

function Next({ task, at }: { readonly task: Task; readonly at: string }) {
  return (
    <>
      <Distance at={at} /> · <Instant at={at} zone={task.timezone} />
      {task.skipNext && (
        <span className={classes.aside}>
          occurrences up to <Instant at={task.skipNext.until} zone={task.timezone} /> are skipped
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
  return task.schedule.type === 'manual' && !isOver(task) ? 'when triggered' : 'none'
}

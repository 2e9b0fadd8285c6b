/** One run, from its due time to its result, with all attempts. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { outcomeWords } from '../../../src/core/words/outcome.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import { useIsGone } from '../../api/gone.ts'
import { isOpen, retryRun, runQuery } from '../../api/runs.ts'
import { taskQuery } from '../../api/tasks.ts'
import type { Run, RunWithAttempts, Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Icon } from '../../components/icon.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { latenessWords } from '../../components/lateness.ts'
import { Bones } from '../../components/panel.tsx'
import { WhyThen } from '../../components/run-table.tsx'
import { Screen } from '../../components/screen.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { titleOf } from '../../components/task-acts.tsx'
import { useTitle } from '../../components/title.ts'
import { tell, tellFailure } from '../../components/toast.tsx'
import { Unread } from '../../components/unread.tsx'
import { Attempts } from './attempts.tsx'
import { CancelRun } from './cancel-run.tsx'
import { Progress } from './progress.tsx'
import { RunLog } from './run-log.tsx'
import classes from './run-screen.module.css'
import { Timeline } from './timeline.tsx'
import { Waiting } from './waiting.tsx'

const route = getRouteApi('/runs/$runId')
/** The event stream does not carry the progress of an attempt, so it is polled. */
const PROGRESS_MS = 2_000

export function RunScreen() {
  const { runId } = route.useParams()
  useTitle('Run')
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state: { data } }) =>
      data && !isOpen(data) ? false : data?.state === 'running' ? PROGRESS_MS : refreshMs(),
  })
  const isGone = useIsGone(run?.taskId ?? '')
  const { data: task } = useQuery({
    ...taskQuery(run?.taskId ?? ''),
    enabled: run !== undefined && !isGone,
  })
  if (error && !run) return <Unread what="run" id={runId} error={error} onRetry={() => void refetch()} />
  if (!run) return <Bones count={4} />
  const zone = task?.timezone ?? null
  const living = isGone ? undefined : task
  return (
    <Screen
      title="Run"
      heading={<Heading run={run} task={living} />}
      state={<State run={run} />}
      aside={<Acts run={run} task={living} />}
    >
      <RunFacts run={run} zone={zone} />
      {run.state === 'pending' && task && <Waiting run={run} task={task} />}
      {run.progress && <Progress progress={run.progress} zone={zone} />}
      {run.attempt > 0 && <Timeline run={run} zone={zone} />}
      {run.attempt > 0 && <RunLog key={run.id} run={run} zone={zone} />}
      <Attempts run={run} task={task} zone={zone} />
    </Screen>
  )
}

const KINDS: Readonly<Record<Run['kind'], string>> = {
  occurrence: 'on schedule',
  manual: 'manual',
  catchup: 'catch-up',
  resume: 'on resume',
  backfill: 'backfill',
}

interface HeadProps {
  readonly run: RunWithAttempts
  /** Undefined if the task was deleted. */
  readonly task: Task | undefined
}

const Heading = ({ run, task }: HeadProps) => (
  <>
    Run of{' '}
    {task ? (
      <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
        {titleOf(task)}
      </Link>
    ) : (
      (run.taskName ?? 'a deleted task')
    )}
  </>
)

const State = ({ run }: { readonly run: RunWithAttempts }) => (
  <span className={classes.state}>
    <StateMark state={run.state} {...(run.reason ? { text: `skipped: ${run.reason}` } : {})} />
    <span className={classes.small}>
      {KINDS[run.kind]}
      {run.retryOf && (
        <>
          , rerun of{' '}
          <Link to="/runs/$runId" params={{ runId: run.retryOf }}>
            an earlier run
          </Link>
        </>
      )}
    </span>
  </span>
)

function Acts({ run, task }: HeadProps) {
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const retry = async () => {
    try {
      const next = await retryRun(run.id)
      tell({ text: 'A new run was created.' })
      await navigate({ to: '/runs/$runId', params: { runId: next.id } })
    } catch (error) {
      tellFailure(error)
    }
  }
  return (
    <>
      {!isOpen(run) && task && task.state !== 'cancelled' && (
        <Button leftSection={<Icon name="again" size={16} />} onClick={() => void retry()}>
          Rerun
        </Button>
      )}
      {!isOpen(run) && task && task.state !== 'cancelled' && (
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link to="/tasks/$taskId" params={{ taskId: task.id }} search={{ panel: 'trigger' }} {...props} />
          )}
        >
          Run with changes…
        </Button>
      )}
      {isOpen(run) && (
        <Button variant="default" disabled={run.cancelRequestedAt !== null} onClick={() => setAsking(true)}>
          {run.cancelRequestedAt === null ? 'Cancel run…' : 'Cancelling…'}
        </Button>
      )}
      {isAsking && isOpen(run) && <CancelRun run={run} onClose={() => setAsking(false)} />}
    </>
  )
}

function RunFacts({ run, zone }: { readonly run: RunWithAttempts; readonly zone: string | null }) {
  const words = outcomeWords(run)
  const begins = run.attempts.flatMap(({ startedAt }) => (startedAt === null ? [] : [Date.parse(startedAt)]))
  const begun = begins.length === 0 ? null : Math.min(...begins)
  return (
    <Facts>
      <Fact label="Due">
        <Instant at={run.scheduledFor} zone={zone} precision="second" />
      </Fact>
      <Fact label="Lateness">{latenessWords(run)}</Fact>
      <Fact label="Ended">
        {run.endedAt ? <Instant at={run.endedAt} zone={zone} precision="second" /> : 'not yet'}
      </Fact>
      {begun !== null && run.endedAt && (
        <Fact label={run.attempts.length > 1 ? 'Duration, including waits' : 'Duration'}>
          {formatDuration(Date.parse(run.endedAt) - begun)}
        </Fact>
      )}
      <Fact label="Attempts">
        {run.attempt}
        {run.losses > 0 && `, ${run.losses} lost because a worker died`}
      </Fact>
      {run.retryAt && (
        <Fact label="Next attempt">
          <Distance at={run.retryAt} />
        </Fact>
      )}
      {(words !== '' || run.state === 'skipped') && (
        <Fact label="Result" isWide>
          {run.state === 'skipped' ? <WhyThen run={run} /> : words}
        </Fact>
      )}
      <Fact label="ID" isWide>
        <code>{run.id}</code>
      </Fact>
    </Facts>
  )
}

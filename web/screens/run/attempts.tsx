/** Every attempt with its request, its response and its error. The last one is expanded. */

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { actionWords } from '../../../src/core/words/action.ts'
import { outcomeWords } from '../../../src/core/words/outcome.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import { useMay } from '../../api/me.ts'
import { nodesQuery } from '../../api/overview.ts'
import type { Attempt, RunWithAttempts, Task } from '../../api/wire.ts'
import { Instant } from '../../components/instant.tsx'
import { CodeBlock, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { TextView } from '../../components/text-view.tsx'
import classes from './attempts.module.css'
import { Output } from './output.tsx'
import { requestText } from './request-text.ts'

interface AttemptsProps {
  readonly run: RunWithAttempts
  readonly task: Task | undefined
  readonly zone: string | null
}

export function Attempts({ run, task, zone }: AttemptsProps) {
  return (
    <>
      <Request run={run} task={task} />
      {run.attempts.length > 0 && (
        <Panel title="Attempts" flush>
          {run.attempts.toReversed().map((attempt, index) => (
            <AttemptPart key={attempt.number} attempt={attempt} zone={zone} isOpen={index === 0} />
          ))}
        </Panel>
      )}
    </>
  )
}

/** The request of this run: the action of its task version with the run's overrides. */
function Request({ run, task }: { readonly run: RunWithAttempts; readonly task: Task | undefined }) {
  if (run.action === null) return null
  const sent = requestText(run.action)
  const isOlder = task !== undefined && run.version !== task.version
  return (
    <Panel title="Request">
      <div className={classes.details}>
        {isOlder && (
          <p className={classes.small}>
            From version {run.version} of the task. The current version is {task.version}.
          </p>
        )}
        {run.override !== null && (
          <>
            <p className={classes.small}>Overrides for this run:</p>
            <CodeBlock label="Overrides for this run" text={JSON.stringify(run.override, null, 2)} />
          </>
        )}
        <p className={classes.request}>{actionWords(run.action)}</p>
        {sent !== '' && <CodeBlock label="Request content" text={sent} />}
      </div>
    </Panel>
  )
}

/** The name from the nodes page, if that still knows the worker and the user may see that page. */
function WorkerName({ id }: { readonly id: string | null }) {
  const mayInspect = useMay()('inspect')
  const { data } = useQuery({ ...nodesQuery, refetchInterval: false, enabled: id !== null && mayInspect })
  const known = data?.find((node) => node.id === id)
  if (id === null) return '–'
  return known ? (
    <Link to="/nodes" title={id}>
      {known.name}
    </Link>
  ) : (
    <code>{id}</code>
  )
}

/** A lost worker has reported nothing, so it is unknown whether the attempt started. */
const neverStarted = ({ outcome }: Attempt) => (outcome === 'worker_lost' ? 'unknown' : 'never')

interface AttemptPartProps {
  readonly attempt: Attempt
  readonly zone: string | null
  readonly isOpen: boolean
}

function AttemptPart({ attempt, zone, isOpen }: AttemptPartProps) {
  const took = attempt.startedAt ? Date.parse(attempt.endedAt) - Date.parse(attempt.startedAt) : null
  const isFinal = attempt.status === 'permanently_failed' && attempt.outcome !== 'cancelled'
  return (
    <details className={classes.attempt} open={isOpen}>
      <summary className={classes.summary}>
        <strong>Attempt {attempt.number}</strong>
        <StateMark state={isFinal ? 'permanently_failed' : attempt.outcome} />
        <span>{outcomeWords(attempt)}</span>
        <span className={classes.took}>{took === null ? '' : formatDuration(took)}</span>
      </summary>
      <div className={classes.details}>
        <dl className={classes.facts}>
          <div>
            <dt>Started</dt>
            <dd>
              {attempt.startedAt ? (
                <Instant at={attempt.startedAt} zone={zone} precision="millisecond" />
              ) : (
                neverStarted(attempt)
              )}
            </dd>
          </div>
          <div>
            <dt>Ended</dt>
            <dd>
              <Instant at={attempt.endedAt} zone={zone} precision="millisecond" />
            </dd>
          </div>
          <div>
            <dt>Fence</dt>
            <dd>{attempt.fence}</dd>
          </div>
          <div>
            <dt>Worker</dt>
            <dd>
              <WorkerName id={attempt.workerId} />
            </dd>
          </div>
        </dl>
        {attempt.error != null && (
          <>
            <h3>Error</h3>
            <TextView
              label={`Error of attempt ${attempt.number}`}
              fileName={`${attempt.runId}-${attempt.number}-error.json`}
              text={JSON.stringify(attempt.error, null, 2)}
            />
          </>
        )}
        {attempt.output != null && <Output attempt={attempt} zone={zone} />}
      </div>
    </details>
  )
}

/** Every attempt with what was sent, what was answered and what went wrong; the last one is open. */

import { actionWords } from '../../../src/core/words/action.ts'
import { memberOf, outcomeWords } from '../../../src/core/words/outcome.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import type { Action, Attempt, RunWithAttempts, Task } from '../../api/wire.ts'
import { Instant } from '../../components/instant.tsx'
import { CodeBlock, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import classes from './attempts.module.css'

interface AttemptsProps {
  readonly run: RunWithAttempts
  readonly task: Task | undefined
  readonly zone: string | null
}

export function Attempts({ run, task, zone }: AttemptsProps) {
  return (
    <>
      {task && <Request run={run} task={task} />}
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

/** What was asked for. The definition of an earlier version is not kept where it could be read. */
function Request({ run, task }: { readonly run: RunWithAttempts; readonly task: Task }) {
  const sent = sentBy(task.action)
  const isOlder = run.version !== task.version
  return (
    <Panel title="Request">
      <div className={classes.details}>
        {isOlder && (
          <p className={classes.small}>
            This run belongs to version {run.version}; the task is at version {task.version} now, and this is
            what that one asks for.
          </p>
        )}
        <p className={classes.request}>{actionWords(task.action)}</p>
        {sent !== '' && <CodeBlock label="What is sent" text={sent} />}
      </div>
    </Panel>
  )
}

/** Headers and body as they go out, without what Belfry adds itself. */
function sentBy(action: Action): string {
  if (action.type === 'sleep' || action.type === 'ping') return ''
  if (action.type === 'handler')
    return action.payload === undefined ? '' : JSON.stringify(action.payload, null, 2)
  const headers = action.type === 'http' ? Object.entries(action.headers ?? {}) : []
  const body = typeof action.body === 'string' ? action.body : JSON.stringify(action.body, null, 2)
  return [headers.map(([name, value]) => `${name}: ${value}`).join('\n'), body ?? '']
    .filter((part) => part !== '')
    .join('\n\n')
}

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
            <dt>Began</dt>
            <dd>
              {attempt.startedAt ? (
                <Instant at={attempt.startedAt} zone={zone} precision="millisecond" />
              ) : (
                'never'
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
              <code>{attempt.workerId ?? '–'}</code>
            </dd>
          </div>
        </dl>
        {attempt.error != null && (
          <>
            <h3>Error</h3>
            <CodeBlock
              label={`Error of attempt ${attempt.number}`}
              text={JSON.stringify(attempt.error, null, 2)}
            />
          </>
        )}
        {attempt.output != null && <Output attempt={attempt} />}
      </div>
    </details>
  )
}

/** An HTTP answer as its head and its body; any other output as it is. */
function Output({ attempt: { number, output } }: { readonly attempt: Attempt }) {
  const body = memberOf(output, 'body')
  if (typeof memberOf(output, 'status') !== 'number' || typeof body !== 'string')
    return (
      <>
        <h3>Output</h3>
        <CodeBlock label={`Output of attempt ${number}`} text={JSON.stringify(output, null, 2)} />
      </>
    )
  const { body: _, ...head } = output as Record<string, unknown>
  return (
    <>
      <h3>Response</h3>
      <CodeBlock label={`Response of attempt ${number}`} text={JSON.stringify(head, null, 2)} />
      {body !== '' && (
        <>
          <h3>Body</h3>
          <CodeBlock label={`Body of attempt ${number}`} text={body} />
        </>
      )}
    </>
  )
}

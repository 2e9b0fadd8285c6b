import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { whyQuery } from '../../api/tasks.ts'
import type { Task, WhyNotRunning } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import classes from './why.module.css'

/** Who could serve it changes without a change of the task. */
const ASK_AGAIN_MS = 5_000

/** Why the task is not running now: the cause that counts, what to do about it, and what else is in the way. */
export function Why({ task }: { readonly task: Task }) {
  const { data, error } = useQuery({
    ...whyQuery(task),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_AGAIN_MS,
  })
  return (
    <Panel title="Why is it not running?" aside={data && <code className={classes.code}>{data.code}</code>}>
      {error && !data ? <Failure error={error} /> : data ? <Answer why={data} /> : <Bones count={1} />}
    </Panel>
  )
}

function Answer({ why }: { readonly why: WhyNotRunning }) {
  return (
    <div className={classes.answer}>
      <Cause cause={why} />
      {why.also.length > 0 && (
        <ul className={classes.also} aria-label="Also in the way">
          {why.also.map((cause) => (
            <li key={cause.code}>
              <Cause cause={cause} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Cause({ cause }: { readonly cause: Pick<WhyNotRunning, 'sentence' | 'advice' | 'facts'> }) {
  const { sentence, advice, facts } = cause
  return (
    <>
      <p>
        {sentence}{' '}
        {facts.runId && (
          <Link to="/runs/$runId" params={{ runId: facts.runId }}>
            Show that run
          </Link>
        )}
      </p>
      {advice && <p className={classes.advice}>{advice}</p>}
    </>
  )
}

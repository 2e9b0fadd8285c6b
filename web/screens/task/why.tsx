import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { whyQuery } from '../../api/tasks.ts'
import type { Task, WhyNotRunning } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Sentence } from '../../components/sentence.tsx'
import classes from './why.module.css'

/** Who could serve it changes without a change of the task. */
const ASK_AGAIN_MS = 5_000

/** How things are when all is well: they hinder nothing, and are no news beside what does. */
const ORDINARY: readonly WhyNotRunning['code'][] = ['running', 'starting', 'not_due', 'manual_only']
const isOrdinary = ({ code }: Pick<WhyNotRunning, 'code'>): boolean => ORDINARY.includes(code)

/** Why the task is not running now: the cause that counts, what to do about it, and what else is in the way. */
export function Why({ task }: { readonly task: Task }) {
  const { data, error } = useQuery({
    ...whyQuery(task),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_AGAIN_MS,
  })
  if (error && !data) return <Failure error={error} />
  if (!data) return <Bones count={1} />
  const also = data.also.filter((cause) => !isOrdinary(cause))
  const code = <code className={classes.code}>{data.code}</code>
  if (isOrdinary(data) && also.length === 0)
    return (
      <section className={classes.quiet} aria-label="Why is it not running?">
        <p>
          <Sentence text={data.sentence} zone={task.timezone} />
        </p>
        {code}
      </section>
    )
  return (
    <Panel title="Why is it not running?" aside={code}>
      <div className={classes.answer}>
        <Cause cause={data} zone={task.timezone} />
        {also.length > 0 && (
          <ul className={classes.also} aria-label="Also in the way">
            {also.map((cause) => (
              <li key={cause.code}>
                <Cause cause={cause} zone={task.timezone} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  )
}

interface CauseProps {
  readonly cause: Pick<WhyNotRunning, 'sentence' | 'advice' | 'facts'>
  readonly zone: string | null
}

function Cause({ cause: { sentence, advice, facts }, zone }: CauseProps) {
  return (
    <div>
      <p>
        <Sentence text={sentence} zone={zone} />{' '}
        {facts.runId && (
          <Link to="/runs/$runId" params={{ runId: facts.runId }}>
            Show that run
          </Link>
        )}
      </p>
      {advice && (
        <p className={classes.advice}>
          <Sentence text={advice} zone={zone} />
        </p>
      )}
    </div>
  )
}

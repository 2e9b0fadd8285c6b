import { useQuery } from '@tanstack/react-query'
import { previewQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { ClockChanges } from '../../components/clock-changes.tsx'
import { durationWords } from '../../components/duration-words.ts'
import { Failure } from '../../components/failure.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { isActive } from '../../components/task-acts.tsx'
import classes from './parts.module.css'
import { previewInputOf } from './preview-input.ts'

const SHOWN = 25

/** The next times, calculated by the server, with the effects of clock changes. */
export function Upcoming({ task }: { readonly task: Task }) {
  const { data, error } = useQuery(previewQuery({ ...previewInputOf(task), count: SHOWN }))
  if (error) return <Failure error={error} />
  if (!data) return <Bones count={4} />
  if (!isActive(task) && task.state !== 'paused') return <Nothing words="No upcoming occurrences." />
  if (task.schedule.type === 'delay')
    return (
      <Nothing
        words={`Each run is due ${durationWords(task.schedule.interval)} after the previous run ends.`}
      />
    )
  if (data.occurrences.length === 0)
    return <Nothing words="This task has no schedule. It runs when it is triggered." />
  return (
    <Panel title={task.state === 'paused' ? 'Next occurrences if resumed' : 'Next occurrences'} flush>
      <ClockChanges notes={data.notes} className={classes.notes} />
      <ol className={classes.times}>
        {data.occurrences.map(({ at, firesAt }) => (
          <li key={at} data-skipped={isSkipped(task, at) || undefined}>
            <span>
              <Instant at={at} zone={data.timezone} />
              {firesAt !== undefined && firesAt !== at && (
                <span className={classes.far}>
                  , starts <Instant at={firesAt} zone={data.timezone} precision="second" />
                </span>
              )}
            </span>
            <span className={classes.far}>{isSkipped(task, at) ? 'skipped' : <Distance at={at} />}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

/** Whether the occurrence falls under a requested skip. */
const isSkipped = ({ skipNext }: Task, at: string): boolean =>
  skipNext !== null && Date.parse(at) <= Date.parse(skipNext.until)

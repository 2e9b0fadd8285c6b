import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { whyQuery } from '../../api/tasks.ts'
import type { Run, Task } from '../../api/wire.ts'
import { Panel } from '../../components/panel.tsx'
import { Sentence } from '../../components/sentence.tsx'
import classes from './run-screen.module.css'

/** The reason can change without a change of the run, so it is polled. */
const ASK_AGAIN_MS = 3_000

interface WaitingProps {
  readonly run: Pick<Run, 'id'>
  readonly task: Task
}

/** Why a run that is due has not started: its target, its queue or missing workers. */
export function Waiting({ run, task }: WaitingProps) {
  const { data } = useQuery({ ...whyQuery(task), refetchInterval: ASK_AGAIN_MS })
  if (!data || data.facts.runId !== run.id || data.code === 'starting') return null
  const { target, queue } = data.facts
  return (
    <Panel title="Waiting" aside={<code>{data.code}</code>}>
      <p>
        <Sentence text={data.sentence} zone={task.timezone} />{' '}
        {target && (
          <Link to="/targets/$target" params={{ target }}>
            View this target
          </Link>
        )}{' '}
        {queue && (
          <Link to="/queues/$queue" params={{ queue }}>
            View this queue
          </Link>
        )}
      </p>
      {data.advice && (
        <p className={classes.small}>
          <Sentence text={data.advice} zone={task.timezone} />
        </p>
      )}
    </Panel>
  )
}

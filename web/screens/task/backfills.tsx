import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../src/core/words/time.ts'
import { backfillsQuery, cancelBackfill } from '../../api/backfills.ts'
import { itemsOf } from '../../api/pages.ts'
import type { Backfill, Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { Instant } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { tellFailure } from '../../components/toast.tsx'
import classes from './backfills.module.css'

/** Polling interval while a backfill is in progress. */
const GOING_MS = 2_000

/** The backfills of a task and their progress. */
export function Backfills({ task }: { readonly task: Task }) {
  const query = useInfiniteQuery({
    ...backfillsQuery(task.id),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some((item) => item.state === 'running'))
        ? GOING_MS
        : refreshMs(),
  })
  const backfills = itemsOf(query.data)
  const nothing = (
    <Nothing words="No backfills yet. A backfill runs the occurrences of a past period.">
      {task.schedule.type !== 'manual' && task.state !== 'cancelled' && (
        <Link to="." search={(before) => ({ ...before, panel: 'backfill' }) as never}>
          Backfill…
        </Link>
      )}
    </Nothing>
  )
  return (
    <Paged query={query} count={backfills.length} bones={3} nothing={nothing}>
      <Panel title="Backfills, latest first" flush>
        <ul className={classes.list}>
          {backfills.map((backfill) => (
            <li key={backfill.id}>
              <BackfillRow backfill={backfill} zone={task.timezone} onChanged={() => void query.refetch()} />
            </li>
          ))}
        </ul>
        <More query={query}>Earlier backfills</More>
      </Panel>
    </Paged>
  )
}

interface BackfillRowProps {
  readonly backfill: Backfill
  readonly zone: string | null
  readonly onChanged: () => void
}

function BackfillRow({ backfill, zone, onChanged }: BackfillRowProps) {
  const { state, from, to, occurrences, order, rate, reason } = backfill
  const done = backfill.completed + backfill.failed + backfill.cancelled + backfill.passedOver
  const stop = async () => {
    try {
      await cancelBackfill(backfill.id)
    } catch (error) {
      tellFailure(error)
    }
    onChanged()
  }
  return (
    <article className={classes.row}>
      <div className={classes.head}>
        <StateMark state={state} />
        <span>
          <Instant at={from} zone={zone} /> to <Instant at={to} zone={zone} />
        </span>
        <span className={classes.small}>
          {order === 'newest_first' ? 'newest first' : 'oldest first'}
          {rate && `, ${rate}`} · version {backfill.version}
        </span>
        {state === 'running' && (
          <Button size="xs" variant="default" className={classes.push} onClick={() => void stop()}>
            Cancel
          </Button>
        )}
      </div>
      <progress
        className={classes.progress}
        max={Math.max(occurrences, 1)}
        value={state === 'running' ? done : occurrences}
        aria-label={`${done} of ${occurrences} done`}
      />
      <p className={classes.small}>
        {formatCount(occurrences)} {occurrences === 1 ? 'occurrence' : 'occurrences'}: {countsOf(backfill)}
        {reason && ` · ${reason}`}
      </p>
    </article>
  )
}

const COUNTS = [
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['running', 'running'],
  ['waiting', 'waiting'],
  ['cancelled', 'cancelled'],
  ['passedOver', 'left out'],
  ['remaining', 'remaining'],
] as const

/** The counts that are not zero. */
function countsOf(backfill: Backfill): string {
  const some = COUNTS.filter(([field]) => backfill[field] > 0)
  return some.map(([field, word]) => `${formatCount(backfill[field])} ${word}`).join(', ')
}

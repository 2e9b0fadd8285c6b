import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { formatCount } from '../../../src/core/words/time.ts'
import { backfillsQuery, cancelBackfill } from '../../api/backfills.ts'
import type { Backfill, Task } from '../../api/wire.ts'
import { refreshMs } from '../../app/live.ts'
import { Failure } from '../../components/failure.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { tellFailure } from '../../components/toast.tsx'
import classes from './backfills.module.css'
import parts from './parts.module.css'

/** While one goes on it changes all the time. */
const GOING_MS = 2_000

/** What was asked to be run of the past, and how far it has come. */
export function Backfills({ task }: { readonly task: Task }) {
  const query = useInfiniteQuery({
    ...backfillsQuery(task.id),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some((item) => item.state === 'running'))
        ? GOING_MS
        : refreshMs(),
  })
  const backfills = query.data?.pages.flatMap(({ items }) => items) ?? []
  if (query.isPending) return <Bones count={3} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (backfills.length === 0)
    return (
      <p className={parts.nothing}>
        Nothing of the past was asked for. More › Backfill runs what a stretch of time owed.
      </p>
    )
  return (
    <Panel title="Backfills, latest first" flush>
      <ul className={classes.list}>
        {backfills.map((backfill) => (
          <li key={backfill.id}>
            <BackfillRow backfill={backfill} zone={task.timezone} onChanged={() => void query.refetch()} />
          </li>
        ))}
      </ul>
      {query.hasNextPage && (
        <div className={parts.more}>
          <Button variant="default" onClick={() => void query.fetchNextPage()}>
            Earlier backfills
          </Button>
        </div>
      )}
    </Panel>
  )
}

interface BackfillRowProps {
  readonly backfill: Backfill
  readonly zone: string | null
  readonly onChanged: () => void
}

function BackfillRow({ backfill, zone, onChanged }: BackfillRowProps) {
  const { state, from, to, occurrences, remaining, passedOver, order, rate, reason } = backfill
  const done = backfill.completed + backfill.failed + backfill.cancelled + passedOver
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
        aria-label={`${done} of ${occurrences} settled`}
      />
      <p className={classes.small}>
        {formatCount(occurrences)} occurrences: {formatCount(backfill.completed)} completed,{' '}
        {formatCount(backfill.failed)} failed, {formatCount(backfill.running)} running,{' '}
        {formatCount(backfill.waiting)} waiting, {formatCount(backfill.cancelled)} cancelled,{' '}
        {formatCount(passedOver)} needed none
        {remaining > 0 && `, ${formatCount(remaining)} not come to yet`}
        {reason && ` · ${reason}`}
      </p>
    </article>
  )
}

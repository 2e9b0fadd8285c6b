/** What needs attention, worst first, each with a link to where it can be resolved. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { REFUSED_WORDS } from '../../../src/core/ledger/refusal-report.ts'
import { formatCount } from '../../../src/core/words/time.ts'
import type { Stats } from '../../api/overview.ts'
import { counted, countWords } from '../../components/count-words.ts'
import { inOnePiece } from '../../components/duration-words.ts'
import { Distance, Instant } from '../../components/instant.tsx'
import type { AnyState } from '../../components/state.ts'
import { StateShape } from '../../components/state-mark.tsx'
import classes from './attention.module.css'

export function Attention({ stats }: { readonly stats: Stats }) {
  const { database, shards, runs, tasks, nodes, lastDay, refused, circuits, clock } = stats
  const isQuiet =
    database.isWritable &&
    refused.count +
      circuits.count +
      shards.unwatched +
      runs.late.count +
      tasks.failing.count +
      nodes.lost +
      nodes.quiet +
      clock.steps +
      lastDay.missed +
      tasks.paused.count ===
      0
  if (isQuiet) return <p className={classes.quiet}>Nothing needs attention</p>
  return (
    <ul className={classes.list}>
      {!database.isWritable && <Item state="warning">{database.detail}</Item>}
      <Refused refused={refused} />
      {shards.unwatched > 0 && (
        <Item state="warning">
          <Link to="/nodes">
            {shards.unwatched === 1 ? 'One shard is' : `${shards.unwatched} shards are`}
          </Link>{' '}
          unwatched
          {shards.unwatchedSince && (
            <>
              , since <Instant at={shards.unwatchedSince} precision="second" />
            </>
          )}
        </Item>
      )}
      {runs.late.count > 0 && (
        <Item state="pending">
          <Link to="/runs" search={{ state: 'pending' }}>
            {countWords(runs.late)} {runs.late.count === 1 ? 'run is' : 'runs are'} late
          </Link>
          {runs.late.oldestDueAt && (
            <>
              , the oldest was due <Distance at={runs.late.oldestDueAt} />
            </>
          )}
        </Item>
      )}
      <Circuits circuits={circuits} />
      {tasks.failing.items.map(({ taskId, taskName, failures, atLeast, since }) => (
        <Item key={taskId} state="failing">
          <Link to="/tasks/$taskId" params={{ taskId }}>
            {taskName ?? taskId.slice(0, 13)}
          </Link>{' '}
          failed {timesInARow({ count: failures, atLeast })}, since {atLeast && 'before '}
          <Instant at={since} />
        </Item>
      ))}
      {tasks.failing.count > tasks.failing.items.length && (
        <Item state="failing">
          <Link to="/runs" search={{ state: 'permanently_failed', since: '24h' }}>
            {countWords(tasks.failing)} tasks are failing in total
          </Link>
        </Item>
      )}
      {lastDay.missed > 0 && (
        <Item state="warning">
          <Link to="/runs" search={{ state: 'skipped', since: '24h' }}>
            {counted(lastDay.missed, 'occurrence was', 'occurrences were')} missed or lost
          </Link>{' '}
          in the last 24 hours: no scheduler was running when they came due, or their rows disappeared
        </Item>
      )}
      {clock.lastStep && (
        <Item state="warning">
          The database clock was set {clock.lastStep.byMs < 0 ? 'back' : 'forward'} by{' '}
          {inOnePiece(Math.abs(clock.lastStep.byMs))} at <Instant at={clock.lastStep.at} precision="second" />
          {clock.steps > 1 && `; ${clock.steps} changes in the last 24 hours`}
        </Item>
      )}
      {nodes.lost > 0 && (
        <Item state="worker_lost">
          <Link to="/nodes">{nodes.lost === 1 ? 'One node' : `${nodes.lost} nodes`}</Link> died in the last
          hour
        </Item>
      )}
      {nodes.quiet > 0 && (
        <Item state="worker_lost">
          <Link to="/nodes">{nodes.quiet === 1 ? 'One node is' : `${nodes.quiet} nodes are`}</Link> quiet: no
          recent heartbeat
        </Item>
      )}
      {tasks.paused.count > 0 && (
        <Item state="paused">
          <Link to="/tasks" search={{ state: 'paused' }}>
            {countWords(tasks.paused)} {tasks.paused.count === 1 ? 'task is' : 'tasks are'} paused
          </Link>
          {tasks.paused.since && (
            <>
              {tasks.paused.count === 1 ? ', since ' : ', the longest since '}
              <Instant at={tasks.paused.since} />
            </>
          )}
        </Item>
      )}
    </ul>
  )
}

const timesInARow = ({ count, atLeast }: { readonly count: number; readonly atLeast: boolean }): string =>
  count === 1 && !atLeast ? 'once' : `${atLeast ? 'at least ' : ''}${formatCount(count)} times in a row`

/** Rows that PostgreSQL rejects: nothing else waits for them, but an operator must examine them. */
function Refused({ refused: { items, ...total } }: { readonly refused: Stats['refused'] }) {
  return (
    <>
      {items.map(({ operation, taskId, taskName, runId, error, since }) => (
        <Item key={`${operation} ${runId ?? taskId ?? error}`} state="failing">
          {taskId !== null && (
            <>
              <Link to="/tasks/$taskId" params={{ taskId }}>
                {taskName ?? taskId.slice(0, 13)}
              </Link>
              {': '}
            </>
          )}
          {REFUSED_WORDS[operation]}, since <Instant at={since} precision="second" />: {error}
        </Item>
      ))}
      {total.count > items.length && (
        <Item state="failing">{countWords(total)} rejected writes in total</Item>
      )}
    </>
  )
}

/** Targets with an open circuit: their runs wait. */
function Circuits({ circuits: { items, ...total } }: { readonly circuits: Stats['circuits'] }) {
  return (
    <>
      {items.map(({ target, since, error }) => (
        <Item key={target} state="pending">
          Calls to{' '}
          <Link to="/targets/$target" params={{ target }}>
            {target}
          </Link>{' '}
          wait: it has not responded since <Instant at={since} precision="second" />
          {error && `: ${error.message}`}
        </Item>
      ))}
      {total.count > items.length && (
        <Item state="pending">
          <Link to="/targets" search={{ state: 'circuit_open' }}>
            {countWords(total)} targets do not respond in total
          </Link>
        </Item>
      )}
    </>
  )
}

function Item({ state, children }: { readonly state: AnyState; readonly children: ReactNode }) {
  return (
    <li className={classes.item}>
      <StateShape state={state} />
      <span>{children}</span>
    </li>
  )
}

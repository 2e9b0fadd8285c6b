/** A table of runs: result, due time, lateness and duration. */
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { outcomeWords } from '../../src/core/words/outcome.ts'
import { formatDuration } from '../../src/core/words/time.ts'
import type { Run } from '../api/wire.ts'
import { useNow } from '../time/clock.ts'
import { useChosenRow } from './chosen-row.ts'
import { Instant } from './instant.tsx'
import { latenessWords, NOT_LATE } from './lateness.ts'
import classes from './run-table.module.css'
import { StateMark } from './state-mark.tsx'

interface RunTableProps {
  readonly runs: readonly Run[]
  readonly zone?: string | null
  readonly label: string
  /** Whether to show the task of each run, in lists across tasks. */
  readonly withTask?: boolean
}

export function RunTable({ runs, zone, label, withTask = false }: RunTableProps) {
  const navigate = useNavigate()
  const body = useRef<HTMLTableSectionElement>(null)
  const chosen = useChosenRow(
    useMemo(() => runs.map(({ id }) => id), [runs]),
    {
      show: (index) => body.current?.rows[index]?.scrollIntoView({ block: 'nearest' }),
      act: (key, runId) => {
        if (key === 'Enter') void navigate({ to: '/runs/$runId', params: { runId } })
      },
    },
  )
  return (
    <table className={classes.table} aria-label={label} data-live>
      <thead>
        <tr>
          <th scope="col">State</th>
          {withTask && <th scope="col">Task</th>}
          <th scope="col">Due</th>
          <th scope="col" className={classes.number}>
            Late
          </th>
          <th scope="col" className={classes.number} title="Duration of the last attempt">
            Duration
          </th>
          <th scope="col" className={classes.number}>
            Attempts
          </th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {runs.map((run) => (
          <RunRow
            key={run.id}
            run={run}
            zone={zone ?? null}
            withTask={withTask}
            isChosen={run.id === chosen}
          />
        ))}
      </tbody>
    </table>
  )
}

/** What caused a run, if it was not the schedule. */
const KIND_WORDS: Partial<Readonly<Record<Run['kind'], string>>> = {
  manual: 'manual',
  catchup: 'catch-up',
  backfill: 'backfill',
}

interface RunRowProps {
  readonly run: Run
  readonly zone: string | null
  readonly withTask: boolean
  /** Whether the row is selected by keyboard. */
  readonly isChosen: boolean
}

function RunRow({ run, zone, withTask, isChosen }: RunRowProps) {
  const late = latenessWords(run)
  return (
    <tr
      data-run={run.id}
      data-chosen={isChosen || undefined}
      data-unrun={run.state === 'skipped' || undefined}
    >
      <td>
        <Link to="/runs/$runId" params={{ runId: run.id }} className={classes.link}>
          <StateMark state={run.state} {...(run.reason ? { text: `skipped: ${run.reason}` } : {})} />
        </Link>
      </td>
      {withTask && (
        <td className={classes.task}>
          <Link to="/tasks/$taskId" params={{ taskId: run.taskId }} title={run.taskName ?? run.taskId}>
            {run.taskName ?? run.taskId.slice(0, 13)}
          </Link>
        </td>
      )}
      <td>
        <Instant at={run.scheduledFor} zone={zone} precision="second" />
        {KIND_WORDS[run.kind] && <span className={classes.kind}> {KIND_WORDS[run.kind]}</span>}
        {run.covers && (
          <span className={classes.kind}>
            {' '}
            to <Instant at={run.covers.until} zone={zone} precision="second" />
            {run.covers.count !== null && `, ${run.covers.count} occurrences`}
          </span>
        )}
      </td>
      <td className={classes.number} data-none={late === NOT_LATE || undefined}>
        <Labelled label="late">{late}</Labelled>
      </td>
      <td className={classes.number}>
        <Labelled label="duration">
          <Took run={run} />
        </Labelled>
      </td>
      <td className={classes.number}>
        <Labelled label="attempts">{run.attempt === 0 ? '–' : run.attempt}</Labelled>
      </td>
      <td className={classes.outcome}>
        {run.state === 'skipped' ? <WhyThen run={run} /> : (run.outcome ?? outcomeWords(run))}
      </td>
    </tr>
  )
}

/** A skipped run stores a reason; the link leads to the explanation on the task's page. */
export function WhyThen({ run }: { readonly run: Pick<Run, 'taskId' | 'scheduledFor'> }) {
  return (
    <Link to="/tasks/$taskId" params={{ taskId: run.taskId }} search={{ at: run.scheduledFor }}>
      Why it did not run
    </Link>
  )
}

/** Phones show no column headings, so each number carries its own label. */
function Labelled({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <>
      <span className={classes.label}>{label} </span>
      {children}
    </>
  )
}

function Took({ run }: { readonly run: Run }) {
  if (run.startedAt === null || run.state === 'pending') return '–'
  if (run.endedAt !== null) return formatDuration(Date.parse(run.endedAt) - Date.parse(run.startedAt))
  return run.state === 'running' ? <Since at={run.startedAt} /> : '–'
}

/** Elapsed time, updated each second. */
export function Since({ at }: { readonly at: string }) {
  const now = useNow()
  return <>{formatDuration(Math.max(0, Math.floor((now - Date.parse(at)) / 1000) * 1000))}</>
}

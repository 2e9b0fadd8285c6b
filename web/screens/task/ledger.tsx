import { NativeSelect } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ledgerQuery } from '../../api/ledger.ts'
import type { LedgerEntry, Ledger as LedgerOfTask, Task } from '../../api/wire.ts'
import type { LedgerShown } from '../../app/router.tsx'
import { Failure } from '../../components/failure.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import classes from './parts.module.css'

const SHOWN: readonly { value: LedgerShown; label: string }[] = [
  { value: 'problems', label: 'Problems' },
  { value: 'skipped', label: 'Skipped' },
  { value: 'failed', label: 'Failed without running' },
  { value: 'ran', label: 'Ran' },
]

/** Compares what the task owed in the last day with what was recorded. */
export function Ledger({ task, show }: { readonly task: Task; readonly show: LedgerShown }) {
  const navigate = useNavigate()
  const { data, error, refetch } = useQuery({
    ...ledgerQuery(task.id, show),
    placeholderData: keepPreviousData,
  })
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return <Bones count={3} />
  const choice = (
    <NativeSelect
      aria-label="Filter occurrences"
      size="xs"
      value={show}
      onChange={({ currentTarget: { value } }) =>
        void navigate({
          to: '.',
          search: (before: Record<string, unknown>) => ({ ...before, show: value }) as never,
          replace: true,
          resetScroll: false,
        })
      }
      data={[...SHOWN]}
    />
  )
  return (
    <Panel title="Expected and recorded occurrences" aside={choice} flush>
      <Summary ledger={data} zone={task.timezone} />
      {data.items.length > 0 && <Entries items={data.items} zone={task.timezone} />}
    </Panel>
  )
}

function Summary({ ledger, zone }: { readonly ledger: LedgerOfTask; readonly zone: string | null }) {
  const { from, to, sentence, isInOrder, historyFrom } = ledger
  return (
    <div className={classes.summary}>
      <p>
        <strong>
          {isInOrder ? 'All occurrences are accounted for.' : 'Some occurrences need attention.'}
        </strong>{' '}
        {sentence}
      </p>
      <p className={classes.far}>
        <Instant at={from} zone={zone} /> to <Instant at={to} zone={zone} />
        {historyFrom && (
          <>
            ; history before <Instant at={historyFrom} zone={zone} /> was deleted and is not checked
          </>
        )}
      </p>
    </div>
  )
}

function Entries({ items, zone }: { readonly items: readonly LedgerEntry[]; readonly zone: string | null }) {
  return (
    <ol className={classes.times} aria-label="Occurrences">
      {items.map(({ at, until, count, state, reason, runIds }) => (
        <li key={at + state}>
          <span>
            <Instant at={at} zone={zone} />
            {until && (
              <>
                {' '}
                to <Instant at={until} zone={zone} />, {count} {count === 1 ? 'occurrence' : 'occurrences'}
              </>
            )}
          </span>
          <span className={classes.far}>
            {state}
            {reason && `: ${reason}`}{' '}
            {runIds.map((runId) => (
              <Link key={runId} to="/runs/$runId" params={{ runId }} className={classes.also}>
                run
              </Link>
            ))}
            {state !== 'ran' && (
              <Link to="." search={(before) => ({ ...before, at }) as never} className={classes.also}>
                why
              </Link>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** Runs the occurrences of a past period: the server counts them first, then the backfill starts with a rate and an order. */

import { Checkbox, NativeSelect } from '@mantine/core'
import { DAY_MS, MINUTE_MS } from '../../../../src/core/values/time-units.ts'
import '@mantine/core/styles/Checkbox.css'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { formatCount } from '../../../../src/core/words/time.ts'
import { backfillKeys, backfillPreviewQuery, beginBackfill } from '../../../api/backfills.ts'
import { ApiError } from '../../../api/client.ts'
import { queryClient } from '../../../api/query-client.ts'
import type { BackfillInput, BackfillPreview, Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import classes from '../../../components/fields.module.css'
import { Instant, useShownZone } from '../../../components/instant.tsx'
import { InstantField } from '../../../components/instant-field.tsx'
import { useKeptFields } from '../../../components/kept.ts'
import { useSettled } from '../../../components/settled.ts'
import { titleOf } from '../../../components/task-acts.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { tell } from '../../../components/toast.tsx'
import { given } from '../../../components/typed.ts'
import { serverNow } from '../../../time/clock.ts'

const TYPING_MS = 300
const SHOWN = 3

interface PanelProps {
  readonly task: Task
  readonly onClose: () => void
}

/** Rounded to minutes, like the field. */
const ago = (ms: number) => new Date(Math.floor((serverNow() - ms) / MINUTE_MS) * MINUTE_MS).toISOString()

interface Fields {
  readonly from: string
  readonly to: string
  readonly order: NonNullable<BackfillInput['order']>
  readonly rate: string
  readonly isBeside: boolean
  readonly force: boolean
  readonly reason: string
}

const startOf = (task: Task): Fields => ({
  from: ago(DAY_MS),
  to: ago(0),
  order: 'oldest_first',
  rate: '',
  isBeside: task.overlap === 'allow',
  force: false,
  reason: '',
})

export function BackfillPanel({ task, onClose }: PanelProps) {
  const navigate = useNavigate()
  const zone = useShownZone(task.timezone)
  const name = `backfill ${task.id}`
  const kept = useKeptFields(name, () => startOf(task))
  const { fields, change } = kept
  const { from, to, order, rate, isBeside, force, reason } = fields
  const input: BackfillInput = {
    from,
    to,
    order,
    overlap: isBeside ? 'allow' : 'queue_all',
    ...given('rate', rate),
    ...(force ? { force } : {}),
    ...given('reason', reason),
  }
  const settled = useSettled(input, TYPING_MS)
  const isComplete = from !== '' && to !== ''
  const { data, error, isPlaceholderData } = useQuery({
    ...backfillPreviewQuery(task.id, isComplete ? settled : null),
    placeholderData: keepPreviousData,
  })
  const errorAt = (pointer: string) =>
    error instanceof ApiError ? error.fields.find((field) => field.pointer === pointer)?.detail : undefined
  const isCounted =
    data !== undefined && !error && !isPlaceholderData && JSON.stringify(settled) === JSON.stringify(input)
  const go = async () => {
    const backfill = await beginBackfill(task.id, input)
    void queryClient.invalidateQueries({ queryKey: backfillKeys.ofTask(task.id) })
    tell({
      text: `Backfill of ${formatCount(backfill.occurrences)} ${backfill.occurrences === 1 ? 'occurrence' : 'occurrences'} started.`,
    })
    await navigate({ to: '/tasks/$taskId', params: { taskId: task.id }, search: { tab: 'backfills' } })
  }
  return (
    <ActDialog
      title={`Backfill ${titleOf(task)}`}
      onClose={onClose}
      kept={kept}
      isReady={isCounted && data.runs > 0}
      effects={effectsOf({ task, preview: error ? undefined : data, error, input })}
      twin={{ method: 'POST', path: `/v1/tasks/${task.id}/backfill`, body: input }}
      button={isCounted ? `Start ${formatCount(data.runs)} ${data.runs === 1 ? 'run' : 'runs'}` : 'Start'}
      reason={{
        value: reason,
        error: errorAt('/reason'),
        onText: (typed) => change({ reason: typed }),
      }}
      act={go}
    >
      <div className={classes.two}>
        <InstantField
          label="From"
          zone={zone}
          value={from}
          error={errorAt('/from')}
          onInstant={(at) => change({ from: at })}
          data-autofocus
        />
        <InstantField
          label="To, exclusive"
          zone={zone}
          value={to}
          error={errorAt('/to')}
          onInstant={(at) => change({ to: at })}
        />
        <NativeSelect
          label="Order"
          value={order}
          data={[
            { value: 'oldest_first', label: 'Oldest first' },
            { value: 'newest_first', label: 'Newest first' },
          ]}
          onChange={(event) => change({ order: event.currentTarget.value as Fields['order'] })}
        />
        <TextField
          label="Rate limit, such as 10/s or 100/h"
          placeholder="No limit"
          value={rate}
          error={errorAt('/rate')}
          onText={(typed) => change({ rate: typed })}
        />
      </div>
      <Checkbox
        label="Run in parallel"
        checked={isBeside}
        onChange={(event) => change({ isBeside: event.currentTarget.checked })}
      />
      <Checkbox
        label="Rerun completed occurrences"
        checked={force}
        onChange={(event) => change({ force: event.currentTarget.checked })}
      />
    </ActDialog>
  )
}

interface Effects {
  readonly task: Task
  readonly preview: BackfillPreview | undefined
  readonly error: unknown
  readonly input: BackfillInput
}

function effectsOf({ task, preview, error, input }: Effects): React.ReactNode[] {
  if (error instanceof ApiError)
    return [error.fields.length > 0 ? 'Some fields are invalid.' : error.problem.detail]
  if (!preview) return ['Counting…']
  const { occurrences, runs, passedOver, first } = preview
  return [
    <>
      <strong>
        {formatCount(runs)} {runs === 1 ? 'run' : 'runs'}
      </strong>{' '}
      for {formatCount(occurrences)} {occurrences === 1 ? 'occurrence' : 'occurrences'}
      {passedOver > 0 && `; ${formatCount(passedOver)} left out (completed, active or not yet due)`}.
    </>,
    ...(runs > 0 ? runEffects({ task, first, rate: input.rate }) : []),
  ]
}

interface RunEffects {
  readonly task: Task
  readonly first: readonly string[]
  readonly rate: string | undefined
}

function runEffects({ task, first, rate }: RunEffects): React.ReactNode[] {
  return [
    ...(first.length > 0
      ? [
          <>
            First{' '}
            {first.slice(0, SHOWN).map((at, index) => (
              <span key={at}>
                {index > 0 && ', then '}
                <Instant at={at} zone={task.timezone} />
              </span>
            ))}
            .
          </>,
        ]
      : []),
    `They run with lower priority than scheduled runs${rate ? `, at up to ${rate}` : ''}.`,
    `All runs use version ${task.version} of the task. You can cancel a backfill.`,
  ]
}

/** Redrives dead letters: the server counts them first, then reruns them at a rate. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Grouping } from '../../../src/core/run/grouping.ts'
import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { forecastQuery, type LetterGroup, redrive, redrivesQuery } from '../../api/dead-letters.ts'
import { queryClient } from '../../api/query-client.ts'
import type { LetterFilter, RedriveForecast } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { numberOf } from '../../components/typed.ts'
import { groupTitle } from './group-filter.ts'

const USUAL_RATE = 10

export interface LetterPanelProps {
  readonly filter: LetterFilter
  /** The group to redrive; all listed dead letters if undefined. */
  readonly group?: LetterGroup
  readonly by: Grouping
  readonly onClose: () => void
}

export const groupWords = (by: Grouping, group: LetterGroup | undefined): string =>
  group === undefined ? 'all of them' : `“${groupTitle(by, group)}”`

export function RedrivePanel({ filter, group, by, onClose }: LetterPanelProps) {
  const [typed, setTyped] = useState(String(USUAL_RATE))
  const { data, error } = useQuery({ ...forecastQuery(filter), staleTime: 0 })
  const rate = numberOf(typed)
  const input = { filter, rate }
  const go = async (options: ChangeOptions) => {
    await redrive(filter, rate, options)
    void queryClient.invalidateQueries({ queryKey: redrivesQuery.queryKey })
    tell({ text: 'Redrive started. Its progress is shown below the list.' })
    onClose()
  }
  const count = data ? data.count - data.endedTasks : 0
  return (
    <ActDialog
      title={`Rerun: ${groupWords(by, group)}`}
      onClose={onClose}
      isReady={data !== undefined && count > 0}
      effects={effectsOf(data, error, rate)}
      twin={{ method: 'POST', path: '/v1/dead-letters/redrive', body: input }}
      button={data ? `Rerun ${formatCount(count)}${data.isComplete ? '' : '+'}` : 'Rerun'}
      act={go}
    >
      <TextField
        label="Runs per second"
        description="From 0.01 to 100. Choose a rate that your services can handle."
        inputMode="decimal"
        value={typed}
        onText={setTyped}
        data-autofocus
      />
    </ActDialog>
  )
}

function effectsOf(data: RedriveForecast | undefined, error: unknown, rate: number): React.ReactNode[] {
  if (error) return ['The runs could not be counted.']
  if (!data) return ['Counting…']
  const { count, endedTasks, isComplete } = data
  const more = isComplete ? '' : 'at least '
  const runs = count - endedTasks
  const took = rate > 0 ? `, in about ${formatDuration(Math.ceil(runs / rate) * 1_000)}` : ''
  return [
    <>
      <strong>
        {more}
        {formatCount(runs)} new {runs === 1 ? 'run' : 'runs'}
      </strong>
      {took}. Each uses the current version of its task.
    </>,
    ...(endedTasks > 0
      ? [
          endedTasks === 1
            ? '1 cannot be rerun: its task has ended. It stays on the list.'
            : `${formatCount(endedTasks)} cannot be rerun: their tasks have ended. They stay on the list.`,
        ]
      : []),
    'A run leaves this list when its new run is created. If the new run also fails, it becomes a dead letter.',
    'You can stop the redrive at any time. It continues if a node dies.',
  ]
}

/** Dismisses dead letters; history is unchanged. */
import { useQuery } from '@tanstack/react-query'
import { formatCount } from '../../../src/core/words/time.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { dismiss, forecastQuery, letterKeys } from '../../api/dead-letters.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { tell } from '../../components/toast.tsx'
import { groupWords, type LetterPanelProps } from './redrive-panel.tsx'

export function DismissPanel({ filter, group, by, onClose }: LetterPanelProps) {
  const { data } = useQuery({ ...forecastQuery(filter), staleTime: 0 })
  const count = data ? `${data.isComplete ? '' : 'at least '}${formatCount(data.count)}` : null
  const go = async (options: ChangeOptions) => {
    const dismissed = await dismiss(filter, options)
    void queryClient.invalidateQueries({ queryKey: letterKeys.all })
    tell({ text: `${formatCount(dismissed)} dismissed. Dismissed runs stay in the history.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Dismiss ${groupWords(by, group)}?`}
      onClose={onClose}
      isReady={data !== undefined && data.count > 0}
      effects={[
        count === null
          ? 'Counting…'
          : `${count} ${data?.count === 1 ? 'run leaves' : 'runs leave'} this list. This cannot be undone.`,
        'The runs stay in the history and can still be rerun one by one.',
      ]}
      twin={{ method: 'POST', path: '/v1/dead-letters/dismiss', body: { filter } }}
      button="Dismiss"
      isHarmful
      act={go}
    />
  )
}

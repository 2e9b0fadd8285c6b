import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { editQueue, pathOfQueue } from '../../api/queues.ts'
import type { Queue } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { RateFields, rateFlags, ratesOf } from '../../components/rate-fields.tsx'
import { shellLine } from '../../components/shell.ts'
import { tell } from '../../components/toast.tsx'

interface LimitPanelProps {
  readonly queue: Queue
  readonly onClose: () => void
}

/** Sets the concurrency and rate limits of a queue. */
export function LimitPanel({ queue: { name, ...queue }, onClose }: LimitPanelProps) {
  const [text, setText] = useState(() => ({
    limit: String(queue.concurrencyLimit ?? ''),
    rate: queue.rate ?? '',
    burst: String(queue.burst ?? ''),
  }))
  const { limit, ...rates } = ratesOf(text)
  const body = { concurrencyLimit: limit, ...rates }
  const go = async (options: ChangeOptions) => {
    await editQueue(name, body, options)
    tell({ text: `Limits of the queue ${name} were saved.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Limits of the queue ${name}`}
      onClose={onClose}
      effects={[
        limit === null
          ? 'Any number of its runs may be in progress.'
          : `Up to ${limit} of its runs are in progress, over all workers. Others wait.`,
        rates.rate === null
          ? 'Runs start as soon as a worker is free.'
          : `Up to ${rates.rate} start, over all workers.`,
        'Runs in progress continue.',
      ]}
      twin={{ method: 'PATCH', path: pathOfQueue(name), body }}
      command={shellLine([['belfry', 'queue', 'limit', name], ...rateFlags({ limit, ...rates })])}
      button="Save limits"
      act={go}
    >
      <RateFields
        text={text}
        onText={setText}
        label="Runs in progress"
        pointer="/concurrencyLimit"
        description="From 1 to 100000. Leave empty for no limit."
        placeholder="No limit"
        what="Runs"
      />
    </ActDialog>
  )
}

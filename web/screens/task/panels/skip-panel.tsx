/** Skips the next occurrences, which are listed first, or withdraws such a request. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../../api/client.ts'
import { patchTask } from '../../../api/task-cache.ts'
import { previewQuery, skipNext, unskip } from '../../../api/tasks.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import classes from '../../../components/fields.module.css'
import { Instant } from '../../../components/instant.tsx'
import { titleOf } from '../../../components/task-acts.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { tell } from '../../../components/toast.tsx'
import { given } from '../../../components/typed.ts'
import { previewInputOf } from '../preview-input.ts'

const SHOWN = 5
/** Maximum number of occurrences in a preview. */
const MOST_SEEN = 99

interface PanelProps {
  readonly task: Task
  readonly onClose: () => void
}

export function SkipPanel(props: PanelProps) {
  return props.task.skipNext ? <TakeBack {...props} /> : <Skip {...props} />
}

function Skip({ task, onClose }: PanelProps) {
  const [typed, setTyped] = useState('1')
  const [reason, setReason] = useState('')
  const count = /^\d{1,4}$/.test(typed.trim()) ? Number(typed) : 0
  const skip = { count, ...given('reason', reason) }
  const { data } = useQuery(
    previewQuery({ ...previewInputOf(task), count: Math.min(Math.max(count, 1), MOST_SEEN) + 1 }),
  )
  const skipped = data?.occurrences.slice(0, count) ?? []
  const first = count <= MOST_SEEN ? data?.occurrences[count] : undefined
  const go = async () => {
    patchTask(await skipNext(task.id, skip))
    tell({
      text: `${titleOf(task)} skips ${count === 1 ? 'its next occurrence' : `its next ${count} occurrences`}.`,
      undo: async () => patchTask(await unskip(task.id)),
    })
    onClose()
  }
  return (
    <ActDialog
      title={`Skip the next occurrences of ${titleOf(task)}`}
      onClose={onClose}
      isReady={count > 0}
      effects={[
        count === 0 ? (
          'Enter a whole number from 1 to 1000.'
        ) : (
          <>
            {count === 1
              ? 'This occurrence will be recorded as skipped when it comes due:'
              : `These ${count} occurrences will be recorded as skipped when they come due:`}
            <ol className={classes.times}>
              {skipped.slice(0, SHOWN).map(({ at }) => (
                <li key={at}>
                  <Instant at={at} zone={data?.timezone} />
                </li>
              ))}
              {count > SHOWN && <li>… and {count - SHOWN} more</li>}
            </ol>
          </>
        ),
        ...(first
          ? [
              <>
                The first occurrence that runs is <Instant at={first.at} zone={data?.timezone} />.
              </>,
            ]
          : []),
        'You can undo this until then.',
      ]}
      twin={{ method: 'POST', path: `/v1/tasks/${task.id}/skip-next`, body: skip }}
      reason={{ value: reason, onText: setReason }}
      button={count === 1 ? 'Skip' : `Skip ${count}`}
      act={go}
    >
      <TextField
        label="Number of occurrences"
        inputMode="numeric"
        value={typed}
        onText={setTyped}
        data-autofocus
      />
    </ActDialog>
  )
}

function TakeBack({ task, onClose }: PanelProps) {
  const { skipNext: skip } = task
  const go = async (options: ChangeOptions) => {
    patchTask(await unskip(task.id, options))
    tell({ text: `${titleOf(task)} no longer skips occurrences.` })
    onClose()
  }
  if (!skip) return null
  return (
    <ActDialog
      title={`${titleOf(task)} skips its next occurrences`}
      onClose={onClose}
      effects={[
        <>
          Occurrences up to <Instant at={skip.until} zone={task.timezone} /> are skipped
          {skip.reason === null ? '.' : `: ${skip.reason}`}
        </>,
        'If you stop skipping, later occurrences run as scheduled. Occurrences already skipped stay skipped.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/tasks/${task.id}/skip-next` }}
      button="Stop skipping"
      keep="Keep skipping"
      act={go}
    />
  )
}

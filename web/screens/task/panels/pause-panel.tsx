/** Pauses a task with a reason, optionally until an instant at which it resumes by itself. */

import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { HOUR_MS } from '../../../../src/core/values/time-units.ts'
import { patchTask } from '../../../api/task-cache.ts'
import { pauseTask, previewQuery, resumeTask } from '../../../api/tasks.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import classes from '../../../components/fields.module.css'
import { Instant, useShownZone } from '../../../components/instant.tsx'
import { InstantField } from '../../../components/instant-field.tsx'
import { useSettled } from '../../../components/settled.ts'
import { earlierPause, titleOf } from '../../../components/task-acts.tsx'
import { tell } from '../../../components/toast.tsx'
import { given } from '../../../components/typed.ts'
import { serverNow } from '../../../time/clock.ts'
import { previewInputOf } from '../preview-input.ts'
import presets from './presets.module.css'

const TYPING_MS = 300
/** Maximum number of occurrences in a preview. */
const COUNTED = 100

const PRESETS = [
  { label: '1 h', ms: HOUR_MS },
  { label: '8 h', ms: 8 * HOUR_MS },
  { label: '1 day', ms: 24 * HOUR_MS },
  { label: '7 days', ms: 7 * 24 * HOUR_MS },
] as const

interface PanelProps {
  readonly task: Task
  readonly onClose: () => void
}

export function PausePanel({ task, onClose }: PanelProps) {
  const [reason, setReason] = useState(task.pauseReason ?? '')
  const [until, setUntil] = useState(task.resumeAt ?? '')
  const zone = useShownZone(task.timezone)
  const pause = {
    ...given('reason', reason),
    ...given('until', until),
  }
  const skipped = useSkippedUntil(task, useSettled(until, TYPING_MS))
  const go = async () => {
    patchTask(await pauseTask(task.id, pause))
    tell({
      text: `${titleOf(task)} was paused.`,
      undo: async () => {
        const before = task.state === 'paused' ? earlierPause(task) : null
        patchTask(await (before ? pauseTask(task.id, before) : resumeTask(task.id)))
      },
    })
    onClose()
  }
  return (
    <ActDialog
      title={`Pause ${titleOf(task)}`}
      onClose={onClose}
      effects={[
        until === '' ? (
          'No occurrence runs until the task is resumed.'
        ) : (
          <>
            No occurrence runs until <Instant at={until} zone={task.timezone} />. The task then resumes
            automatically.
          </>
        ),
        ...(skipped === null ? [] : [`${skipped} will be recorded as skipped.`]),
        task.openRun ? `The ${task.openRun.state} run continues.` : 'It has no active runs.',
        'Run now still works while the task is paused.',
      ]}
      twin={{ method: 'POST', path: `/v1/tasks/${task.id}/pause`, body: pause }}
      reason={{ value: reason, onText: setReason, placeholder: 'warehouse migration', isFirst: true }}
      button="Pause"
      act={go}
    >
      <div className={classes.two}>
        <InstantField
          label="Until"
          description="Leave empty to pause until resumed"
          zone={zone}
          value={until}
          onInstant={setUntil}
        />
        <div className={presets.presets}>
          {PRESETS.map(({ label, ms }) => (
            <Button
              key={label}
              size="compact-sm"
              variant="default"
              onClick={() => setUntil(new Date(minuteAfter(ms)).toISOString())}
            >
              {label}
            </Button>
          ))}
        </div>
      </div>
    </ActDialog>
  )
}

/** Rounded to minutes, like the field. */
const minuteAfter = (ms: number): number => Math.ceil((serverNow() + ms) / 60_000) * 60_000

/** The number of occurrences before an instant, calculated by the server; null if unknown. */
function useSkippedUntil(task: Task, until: string): string | null {
  const isKnown = until !== '' && task.schedule.type !== 'manual' && task.schedule.type !== 'delay'
  const { data } = useQuery(
    previewQuery(isKnown ? { ...previewInputOf(task), endAt: until, count: COUNTED } : null),
  )
  if (!isKnown || !data) return null
  const count = data.occurrences.length
  if (count >= COUNTED) return `At least ${COUNTED} occurrences`
  return count === 1 ? 'One occurrence' : `${count === 0 ? 'No' : count} occurrences`
}

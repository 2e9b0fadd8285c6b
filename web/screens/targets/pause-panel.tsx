import { useState } from 'react'
import { pathOfTarget, pauseTarget, resumeTarget } from '../../api/targets.ts'
import type { Target } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { waitingWords } from '../../components/count-words.ts'
import { shellLine } from '../../components/shell.ts'
import { ReasonField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { given } from '../../components/typed.ts'
import { keepTarget } from './target-screen.tsx'

interface PanelProps {
  readonly target: Target
  readonly onClose: () => void
}

/** Pauses calls to a target, with a reason. */
export function PausePanel({ target, onClose }: PanelProps) {
  const [reason, setReason] = useState('')
  const name = target.target
  const body = given('reason', reason)
  const go = async () => {
    keepTarget(await pauseTarget(name, body))
    tell({ text: `${name} was paused.`, undo: async () => keepTarget(await resumeTarget(name)) })
    onClose()
  }
  const flags = Object.entries(body).map(([flag, text]) => [`--${flag}`, text])
  return (
    <ActDialog
      title={`Pause ${name}`}
      onClose={onClose}
      effects={[
        'No call to it starts until it is resumed. Runs that come due wait; none of them is skipped.',
        target.underWay === 1
          ? 'The call in progress continues.'
          : `${target.underWay === 0 ? 'No' : target.underWay} calls are in progress${target.underWay === 0 ? '.' : '; they continue.'}`,
        `${waitingWords(target)} ${target.waiting === 1 ? 'run is' : 'runs are'} waiting now.`,
      ]}
      twin={{ method: 'POST', path: pathOfTarget(name, '/pause'), body }}
      command={shellLine([['belfry', 'target', 'pause', name], ...flags])}
      button="Pause"
      act={go}
    >
      <ReasonField placeholder="maintenance until noon" value={reason} onText={setReason} isFirst />
    </ActDialog>
  )
}

import { useState } from 'react'
import { pathOfTarget, pauseTarget, resumeTarget } from '../../api/targets.ts'
import type { Target } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { waitingWords } from '../../components/count-words.ts'
import { shellLine } from '../../components/shell.ts'
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
      command={shellLine([['belfry', 'target', 'pause', name]])}
      reason={{ value: reason, onText: setReason, placeholder: 'maintenance until noon', isFirst: true }}
      button="Pause"
      act={go}
    />
  )
}

import { useState } from 'react'
import { defaultLimitOf } from '../../../src/core/target/target-state.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { editTarget, pathOfTarget } from '../../api/targets.ts'
import type { Target } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { RateFields, type RateText, rateFlags, ratesOf } from '../../components/rate-fields.tsx'
import { shellLine } from '../../components/shell.ts'
import { tell } from '../../components/toast.tsx'
import { keepTarget } from './target-screen.tsx'

interface PanelProps {
  readonly target: Target
  readonly onClose: () => void
}

/** The limits set for this exact name. Settings of a pattern are changed with the pattern. */
function ownFields({ target, limit, rate }: Target): RateText {
  const hasOwnRate = rate.pattern === target
  return {
    limit: limit.pattern === target ? String(limit.perNode) : '',
    rate: hasOwnRate ? (rate.limit ?? '') : '',
    burst: hasOwnRate && rate.burst !== null ? String(rate.burst) : '',
  }
}

/** The limit that applies if none is set for this exact name. */
function otherLimit({ target, limit }: Target): string {
  const isOfPattern = limit.pattern !== null && limit.pattern !== target
  return isOfPattern ? `${limit.perNode} (set for ${limit.pattern})` : `${defaultLimitOf(target)} (default)`
}

function otherRate({ target, rate }: Target): string {
  const isOfPattern = rate.pattern !== null && rate.pattern !== target
  return isOfPattern
    ? `All nodes together start up to ${rate.limit} (set for ${rate.pattern}).`
    : 'Calls start as soon as the limit allows.'
}

/** Sets the concurrency and rate limits of a target. */
export function LimitPanel({ target, onClose }: PanelProps) {
  const [text, setText] = useState(() => ownFields(target))
  const name = target.target
  const body = ratesOf(text)
  const go = async (options: ChangeOptions) => {
    keepTarget(await editTarget(name, body, options))
    tell({ text: `Limits of ${name} were saved.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Limits of ${name}`}
      onClose={onClose}
      effects={[
        `Each node has up to ${body.limit ?? otherLimit(target)} calls in progress, fewer while calls fail.`,
        body.rate === null ? otherRate(target) : `All nodes together start up to ${body.rate}.`,
        'Calls in progress continue.',
      ]}
      twin={{ method: 'PATCH', path: pathOfTarget(name), body }}
      command={shellLine([['belfry', 'target', 'limit', name], ...rateFlags(body)])}
      button="Save limits"
      act={go}
    >
      <RateFields
        text={text}
        onText={setText}
        label="Calls in progress per node"
        pointer="/limit"
        description="From 1 to 4096. Leave empty for the default."
        placeholder={String(defaultLimitOf(name))}
        what="Calls"
      />
    </ActDialog>
  )
}

import { useState } from 'react'
import { defaultLimitOf } from '../../../src/core/target/target-state.ts'
import { editTarget, pathOfTarget } from '../../api/targets.ts'
import type { Target, TargetEdit } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { shellLine } from '../../components/shell.ts'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { numberOf } from '../../components/typed.ts'
import { keepTarget } from './target-screen.tsx'
import classes from './targets.module.css'

interface PanelProps {
  readonly target: Target
  readonly onClose: () => void
}

interface Fields {
  readonly limit: string
  readonly rate: string
  readonly burst: string
}

/** What is set for this very name; a pattern's settings are changed with the pattern. */
function ownFields({ target, limit, rate }: Target): Fields {
  const hasOwnRate = rate.pattern === target
  return {
    limit: limit.pattern === target ? String(limit.perNode) : '',
    rate: hasOwnRate ? (rate.limit ?? '') : '',
    burst: hasOwnRate && rate.burst !== null ? String(rate.burst) : '',
  }
}

function editOf({ limit, rate, burst }: Fields): TargetEdit {
  const isRated = rate.trim() !== ''
  return {
    limit: limit.trim() === '' ? null : numberOf(limit),
    rate: isRated ? rate.trim() : null,
    ...(isRated ? { burst: burst.trim() === '' ? null : numberOf(burst) } : {}),
  }
}

/** What applies to calls in progress where nothing is set for this very name. */
function otherLimit({ target, limit }: Target): string {
  const isOfPattern = limit.pattern !== null && limit.pattern !== target
  return isOfPattern ? `${limit.perNode} (set for ${limit.pattern})` : `${defaultLimitOf(target)} (default)`
}

function otherRate({ target, rate }: Target): string {
  const isOfPattern = rate.pattern !== null && rate.pattern !== target
  return isOfPattern
    ? `All nodes together start up to ${rate.limit} (set for ${rate.pattern}).`
    : 'Calls start as soon as there is room.'
}

/** Sets how many calls may be in progress, and how many may start. */
export function LimitPanel({ target, onClose }: PanelProps) {
  const [fields, setFields] = useState(() => ownFields(target))
  const change = (part: Partial<Fields>) => setFields({ ...fields, ...part })
  const name = target.target
  const body = editOf(fields)
  const go = async () => {
    keepTarget(await editTarget(name, body))
    tell({ text: `Limits of ${name} were saved.` })
    onClose()
  }
  const burst = 'burst' in body ? [['--burst', String(body.burst ?? 'none')]] : []
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
      command={shellLine([
        ['belfry', 'target', 'limit', name, String(body.limit ?? 'none')],
        ['--rate', String(body.rate ?? 'none')],
        ...burst,
      ])}
      button="Save limits"
      act={go}
    >
      <TextField
        label="Calls in progress per node"
        description="From 1 to 4096. Leave empty for the default."
        placeholder={String(defaultLimitOf(name))}
        inputMode="numeric"
        value={fields.limit}
        onText={(limit) => change({ limit })}
        data-autofocus
      />
      <div className={classes.two}>
        <TextField
          label="Rate"
          description="Such as 10/s, 100/m or 1000/h"
          placeholder="No limit"
          value={fields.rate}
          onText={(rate) => change({ rate })}
        />
        <TextField
          label="Burst"
          description="Calls that may start at once"
          placeholder="A tenth of a second of the rate"
          inputMode="numeric"
          disabled={fields.rate.trim() === ''}
          value={fields.burst}
          onText={(burst) => change({ burst })}
        />
      </div>
    </ActDialog>
  )
}

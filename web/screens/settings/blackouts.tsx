import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { blackoutsQuery, deleteBlackout } from '../../api/settings.ts'
import type { Blackout } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { tell } from '../../components/toast.tsx'
import { windowWords, zoneOf } from './blackout-words.ts'
import classes from './settings.module.css'

/** Windows in which nothing of the project starts by time. */
export function Blackouts({ onAdd }: { readonly onAdd: () => void }) {
  const { data: blackouts, error, refetch } = useQuery(blackoutsQuery)
  const [asked, setAsked] = useState<Blackout | null>(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      New blackout
    </Button>
  )
  return (
    <Panel title="Blackouts" aside={add} flush>
      {error && !blackouts && <Failure error={error} onRetry={() => void refetch()} />}
      {!blackouts && !error && <Bones count={1} />}
      {blackouts?.length === 0 && (
        <p className={classes.nothing}>
          No blackouts yet. During a blackout no scheduled runs start; occurrences are skipped or deferred to
          its end.
        </p>
      )}
      <ul aria-label="Blackouts">
        {blackouts?.map((blackout) => (
          <BlackoutRow key={blackout.id} blackout={blackout} onRemove={() => setAsked(blackout)} />
        ))}
      </ul>
      {asked && (
        <RemoveBlackout blackout={asked} onClose={() => setAsked(null)} onRemoved={() => void refetch()} />
      )}
    </Panel>
  )
}

interface BlackoutRowProps {
  readonly blackout: Blackout
  readonly onRemove: () => void
}

function BlackoutRow({ blackout, onRemove }: BlackoutRowProps) {
  const { name, window, effect, current, next } = blackout
  const zone = zoneOf(window)
  return (
    <li className={classes.row}>
      <div className={classes.main}>
        <strong className={classes.words}>{name}</strong>
        <span className={classes.small}>{windowWords(window)}</span>
      </div>
      <div className={classes.state}>
        {current ? (
          <>
            <StateMark state="paused" text="active" />
            <span className={classes.small}>
              until <Instant at={current.to} zone={zone} /> (<Distance at={current.to} />)
            </span>
          </>
        ) : next ? (
          <>
            <StateMark state="scheduled" text="upcoming" />
            <span className={classes.small}>
              <Instant at={next.from} zone={zone} /> to <Instant at={next.to} zone={zone} />
            </span>
          </>
        ) : (
          <StateMark state="finished" text="ended" />
        )}
      </div>
      <span className={classes.small}>
        {effect === 'skip' ? 'Occurrences are skipped' : 'The latest occurrence of each task runs at the end'}
      </span>
      <Button size="xs" variant="default" onClick={onRemove}>
        Remove…
      </Button>
    </li>
  )
}

interface RemoveBlackoutProps {
  readonly blackout: Blackout
  readonly onClose: () => void
  readonly onRemoved: () => void
}

function RemoveBlackout({ blackout, onClose, onRemoved }: RemoveBlackoutProps) {
  const remove = async () => {
    await deleteBlackout(blackout.id)
    tell({ text: `Blackout ${blackout.name} was removed.` })
    onRemoved()
    onClose()
  }
  return (
    <ActDialog
      title={`Remove the blackout ${blackout.name}?`}
      size="md"
      onClose={onClose}
      effects={[
        blackout.isInForce
          ? 'It is active now. Scheduled runs start again immediately, including deferred ones.'
          : 'It is not active now. Occurrences in its window will run as scheduled.',
        'Skipped occurrences stay skipped.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/blackouts/${blackout.id}` }}
      button="Remove"
      keep="Cancel"
      isHarmful
      act={remove}
    />
  )
}

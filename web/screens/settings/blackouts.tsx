import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { blackoutsQuery, deleteBlackout } from '../../api/settings.ts'
import type { Blackout } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { tell } from '../../components/toast.tsx'
import { BlackoutPanel } from './blackout-panel.tsx'
import { windowWords, zoneOf } from './blackout-words.ts'
import { usePanel } from './panel-in-address.ts'
import { Row, SettingsList, Small } from './settings-list.tsx'

/** Windows in which no scheduled run of the project starts. */
export function Blackouts() {
  const query = useQuery(blackoutsQuery)
  const panel = usePanel()
  const isEditor = useMay()('edit')
  const [asked, setAsked] = useState<Blackout | null>(null)
  return (
    <SettingsList
      title="Blackouts"
      query={query}
      items={query.data ?? []}
      add={isEditor ? 'New blackout' : undefined}
      onAdd={panel.open}
      nothing="No blackouts yet. During a blackout no scheduled runs start; occurrences are skipped or deferred to its end."
      row={(blackout) => (
        <Row
          key={blackout.id}
          name={blackout.name}
          about={[
            windowWords(blackout.window),
            blackout.effect === 'skip'
              ? 'Occurrences are skipped'
              : 'The latest occurrence of each task runs at the end',
          ]}
          acts={[isEditor && ['Remove…', () => setAsked(blackout)]]}
        >
          <When blackout={blackout} />
        </Row>
      )}
    >
      {panel.isOpen && <BlackoutPanel onClose={panel.close} />}
      {asked && (
        <RemoveBlackout
          blackout={asked}
          onClose={() => setAsked(null)}
          onRemoved={() => void query.refetch()}
        />
      )}
    </SettingsList>
  )
}

function When({ blackout: { window, current, next } }: { readonly blackout: Blackout }) {
  const zone = zoneOf(window)
  if (current)
    return (
      <>
        <StateMark state="paused" text="in force" />
        <Small>
          until <Instant at={current.to} zone={zone} /> (<Distance at={current.to} />)
        </Small>
      </>
    )
  if (!next) return <StateMark state="finished" text="ended" />
  return (
    <>
      <StateMark state="scheduled" text="upcoming" />
      <Small>
        <Instant at={next.from} zone={zone} /> to <Instant at={next.to} zone={zone} />
      </Small>
    </>
  )
}

interface RemoveBlackoutProps {
  readonly blackout: Blackout
  readonly onClose: () => void
  readonly onRemoved: () => void
}

function RemoveBlackout({ blackout, onClose, onRemoved }: RemoveBlackoutProps) {
  const remove = async (options: ChangeOptions) => {
    await deleteBlackout(blackout.id, options)
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
          ? 'It is in force now. Scheduled runs start again immediately, including deferred ones.'
          : 'It is not in force now. Occurrences in its window will run as scheduled.',
        'Skipped occurrences stay skipped.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/blackouts/${blackout.id}` }}
      button="Remove"
      isHarmful
      act={remove}
    />
  )
}

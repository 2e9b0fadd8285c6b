/** A blackout: a window in which no scheduled run starts, either once, on days of the week, or by a cron expression. */
import { Chip, NativeSelect, SegmentedControl } from '@mantine/core'
import '@mantine/core/styles/Chip.css'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import { WEEKDAYS } from '../../../src/core/policy/blackout-rule.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { blackoutsQuery, createBlackout } from '../../api/settings.ts'
import type { BlackoutInput } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import shared from '../../components/fields.module.css'
import { InstantField } from '../../components/instant-field.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { myZone, zoneChoices } from '../../time/zone.ts'
import { windowWords } from './blackout-words.ts'
import classes from './settings.module.css'

type Kind = BlackoutInput['window']['type']
type Day = (typeof WEEKDAYS)[number]

const KINDS = [
  { value: 'range', label: 'Once' },
  { value: 'weekly', label: 'Every week' },
  { value: 'cron', label: 'Cron' },
] as const satisfies readonly { value: Kind; label: string }[]

interface Fields {
  readonly name: string
  readonly kind: Kind
  readonly from: string
  readonly to: string
  readonly days: readonly Day[]
  readonly begins: string
  readonly ends: string
  readonly expression: string
  readonly duration: string
  readonly timezone: string
  readonly effect: NonNullable<BlackoutInput['effect']>
}

const START = (): Fields => ({
  name: '',
  kind: 'range',
  from: '',
  to: '',
  days: [],
  begins: '22:00',
  ends: '06:00',
  expression: '0 22 * * FRI',
  duration: '8h',
  timezone: myZone(),
  effect: 'skip',
})

function windowOf(fields: Fields): BlackoutInput['window'] {
  const { timezone } = fields
  switch (fields.kind) {
    case 'range':
      return { type: 'range', from: fields.from, to: fields.to }
    case 'weekly':
      return {
        type: 'weekly',
        days: WEEKDAYS.filter((day) => fields.days.includes(day)),
        from: fields.begins,
        to: fields.ends,
        timezone,
      }
    case 'cron':
      return {
        type: 'cron',
        expression: fields.expression.trim(),
        timezone,
        duration: fields.duration.trim(),
      }
  }
}

export function BlackoutPanel({ onClose }: { readonly onClose: () => void }) {
  const kept = useKeptFields('blackout', START)
  const { fields, change } = kept
  const input: BlackoutInput = { name: fields.name.trim(), window: windowOf(fields), effect: fields.effect }
  const missing = missingOf(fields)
  const go = async (options: ChangeOptions) => {
    await createBlackout(input, options)
    void queryClient.invalidateQueries({ queryKey: blackoutsQuery.queryKey })
    tell({ text: `Blackout ${input.name} was created.` })
    onClose()
  }
  return (
    <ActDialog
      title="New blackout"
      onClose={onClose}
      kept={kept}
      isReady={missing === null}
      effects={[
        missing ?? `${wordsOf(fields)}: no scheduled runs of the project start.`,
        fields.effect === 'skip'
          ? 'Occurrences in this window are recorded as skipped.'
          : 'The latest occurrence of each task in this window runs at its end.',
        'Manual runs, retries and runs that are already waiting still run.',
      ]}
      twin={{ method: 'POST', path: '/v1/blackouts', body: input }}
      button="Create blackout"
      act={go}
    >
      <TextField
        label="Name"
        placeholder="year-end freeze"
        maxLength={200}
        value={fields.name}
        onText={(name) => change({ name })}
        data-autofocus
      />
      <SegmentedControl
        aria-label="Window type"
        fullWidth
        value={fields.kind}
        data={[...KINDS]}
        onChange={(kind) => change({ kind })}
        transitionDuration={0}
      />
      <WindowFields fields={fields} change={change} />
      <NativeSelect
        label="Occurrences in this window"
        value={fields.effect}
        data={[
          { value: 'skip', label: 'Skip' },
          { value: 'defer', label: 'Run the latest of each task at the end' },
        ]}
        onChange={(event) => change({ effect: event.currentTarget.value as Fields['effect'] })}
      />
    </ActDialog>
  )
}

/** What is still missing for a valid window. */
function missingOf({ name, kind, from, to, days }: Fields): string | null {
  if (name.trim() === '') return 'Enter a name.'
  if (kind === 'range' && (from === '' || to === '')) return 'Choose a start and an end.'
  return kind === 'weekly' && days.length === 0 ? 'Choose the days on which it starts.' : null
}

/** While the fields are incomplete there may be no description. */
function wordsOf(fields: Fields): string {
  if (fields.kind === 'range') return 'Between these two times'
  try {
    return windowWords(windowOf(fields))
  } catch {
    return 'Within this window'
  }
}

interface WindowFieldsProps {
  readonly fields: Fields
  readonly change: (part: Partial<Fields>) => void
}

function WindowFields({ fields, change }: WindowFieldsProps) {
  const zone = (
    <NativeSelect
      label="Time zone"
      value={fields.timezone}
      data={zoneChoices(myZone())}
      onChange={(event) => change({ timezone: event.currentTarget.value })}
    />
  )
  if (fields.kind === 'range')
    return (
      <>
        <div className={shared.two}>
          <InstantField
            label="From"
            pointer="/window/from"
            zone={fields.timezone}
            value={fields.from}
            onInstant={(from) => change({ from })}
          />
          <InstantField
            label="To"
            pointer="/window/to"
            zone={fields.timezone}
            value={fields.to}
            onInstant={(to) => change({ to })}
          />
        </div>
        {zone}
      </>
    )
  if (fields.kind === 'cron')
    return (
      <>
        <div className={shared.two}>
          <TextField
            label="Starts at (cron expression)"
            pointer="/window/expression"
            value={fields.expression}
            onText={(expression) => change({ expression })}
          />
          <TextField
            label="Duration"
            pointer="/window/duration"
            description="From 1m to 31d"
            value={fields.duration}
            onText={(duration) => change({ duration })}
          />
        </div>
        {zone}
      </>
    )
  return (
    <>
      <Chip.Group multiple value={[...fields.days]} onChange={(days) => change({ days: days as Day[] })}>
        <div className={classes.days} role="group" aria-label="Starts on">
          {WEEKDAYS.map((day) => (
            <Chip key={day} value={day} size="xs" variant="outline">
              {day.slice(0, 1).toUpperCase() + day.slice(1)}
            </Chip>
          ))}
        </div>
      </Chip.Group>
      <div className={shared.two}>
        <TextField label="From" type="time" value={fields.begins} onText={(begins) => change({ begins })} />
        <TextField
          label="To (same or next day)"
          type="time"
          value={fields.ends}
          onText={(ends) => change({ ends })}
        />
      </div>
      {zone}
    </>
  )
}

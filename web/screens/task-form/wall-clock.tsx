/** Fields of schedules on the wall clock: an expression, the time zone, and the behaviour at clock changes. */
import { Button, NativeSelect, Select, TextInput } from '@mantine/core'
import '@mantine/core/styles/Popover.css'
import { myZone, zoneChoices } from '../../time/zone.ts'
import type { Draft } from './draft.ts'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

const PRESETS = [
  { label: 'Weekdays 9:00', expression: '0 9 * * MON-FRI' },
  { label: 'Every hour', expression: '0 * * * *' },
  { label: 'Every 5 minutes', expression: '*/5 * * * *' },
  { label: 'Mondays 8:00', expression: '0 8 * * MON' },
  { label: 'First of the month', expression: '0 9 1 * *' },
  { label: 'Last day of the month', expression: '0 9 L * *' },
]

export function Cron({ draft, change, errorAt }: PartProps) {
  return (
    <>
      <TextInput
        label="Cron expression"
        description="minute hour day month weekday; an optional first field is for seconds"
        value={draft.expression}
        error={errorAt('/schedule/expression')}
        onChange={(event) => change({ expression: event.currentTarget.value })}
        classNames={{ input: classes.mono ?? '' }}
        spellCheck={false}
      />
      <div className={classes.presets}>
        {PRESETS.map(({ label, expression }) => (
          <Button key={expression} size="compact-sm" variant="default" onClick={() => change({ expression })}>
            {label}
          </Button>
        ))}
      </div>
    </>
  )
}

export function ZoneSelect({ draft, change, errorAt }: PartProps) {
  return (
    <Select
      label="Time zone"
      searchable
      limit={30}
      data={zoneChoices(myZone(), draft.timezone)}
      value={draft.timezone}
      error={errorAt('/schedule/timezone')}
      onChange={(timezone) => timezone !== null && change({ timezone })}
      nothingFoundMessage="No matching time zone"
      withScrollArea={false}
      styles={{ options: { maxHeight: '15rem', overflowY: 'auto' } }}
      comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
    />
  )
}

export function Zone({ draft, change, errorAt }: PartProps) {
  return (
    <div className={classes.three}>
      <ZoneSelect draft={draft} change={change} errorAt={errorAt} />
      <NativeSelect
        label="If the clock skips the time"
        value={draft.gap}
        data={[
          { value: 'next', label: 'Run right after' },
          { value: 'skip', label: 'Skip that day' },
        ]}
        onChange={(event) => change({ gap: event.currentTarget.value as Draft['gap'] })}
      />
      <NativeSelect
        label="If the clock repeats the time"
        value={draft.fold}
        data={[
          { value: 'first', label: 'Run the first time' },
          { value: 'last', label: 'Run the last time' },
          { value: 'both', label: 'Run both times' },
        ]}
        onChange={(event) => change({ fold: event.currentTarget.value as Draft['fold'] })}
      />
    </div>
  )
}

/** When the task is due: the kind of schedule and its bounds. */
import { Textarea, TextInput } from '@mantine/core'
import { InstantField } from '../../components/instant-field.tsx'
import { Choice } from './choice.tsx'
import type { Draft } from './draft.ts'
import { BOXES } from './draft-fields.ts'
import { FieldBox } from './field-box.tsx'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'
import { Cron, Zone, ZoneSelect } from './wall-clock.tsx'

const SCHEDULES = [
  { value: 'words', label: 'Words' },
  { value: 'daily', label: 'Daily' },
  { value: 'cron', label: 'Cron' },
  { value: 'every', label: 'Every' },
  { value: 'delay', label: 'Delay' },
  { value: 'once', label: 'Once' },
  { value: 'manual', label: 'Manual' },
]

/** Start, end and maximum number of runs; then the other timing fields. */
const BOUNDS = BOXES.filter(({ about, isTiming }) => about === 'when' && isTiming)
const OTHERS = BOXES.filter(({ about, isTiming }) => about === 'when' && !isTiming)

const keptType = ({ kept }: Draft): string => (JSON.parse(kept) as { type: string }).type

export function When(props: PartProps) {
  const { draft, change, errorAt } = props
  const hasZone = draft.when === 'daily' || draft.when === 'cron'
  return (
    <Question number={2} title="When to run">
      <Choice
        label="Schedule"
        value={draft.when}
        choices={draft.kept === '' ? SCHEDULES : [{ value: keptType(draft), label: 'Custom' }, ...SCHEDULES]}
        onChange={(when) => change({ when: when as Draft['when'] })}
      />
      {draft.when === 'words' && (
        <>
          <TextInput
            label="Schedule in words"
            description="every 15 minutes between 8 and 18 · last day of the month at 18:00 · tomorrow at 9:00 · weekdays at noon in Tokyo"
            value={draft.words}
            error={errorAt('/schedule/words')}
            onChange={(event) => change({ words: event.currentTarget.value })}
            spellCheck={false}
          />
          <ZoneSelect draft={draft} change={change} errorAt={errorAt} />
        </>
      )}
      {draft.when === 'daily' && (
        <TextInput
          label="At"
          type="time"
          value={draft.time}
          error={errorAt('/schedule/hour') ?? errorAt('/schedule/minute')}
          onChange={(event) => change({ time: event.currentTarget.value })}
        />
      )}
      {draft.when === 'cron' && <Cron draft={draft} change={change} errorAt={errorAt} />}
      {(draft.when === 'every' || draft.when === 'delay') && (
        <TextInput
          label={draft.when === 'every' ? 'Every' : 'Delay after each run ends'}
          description="500ms, 10s, 5m, 1h30m, 1d"
          value={draft.interval}
          error={errorAt('/schedule/interval')}
          onChange={(event) => change({ interval: event.currentTarget.value })}
        />
      )}
      {draft.when === 'every' && (
        <InstantField
          label="Anchor"
          description="The instant that occurrences are counted from. Default: Not before, or the time of creation."
          step={1}
          zone={draft.timezone}
          value={draft.anchor}
          error={errorAt('/schedule/anchor')}
          onInstant={(anchor) => change({ anchor })}
        />
      )}
      {draft.when === 'once' && (
        <div className={classes.two}>
          <InstantField
            label="At"
            step={1}
            zone={draft.timezone}
            value={draft.at}
            error={errorAt('/schedule/at')}
            onInstant={(at) => change({ at })}
          />
          <ZoneSelect draft={draft} change={change} errorAt={errorAt} />
        </div>
      )}
      {draft.kept !== '' && draft.when === keptType(draft) && (
        <Textarea
          label="Schedule as JSON"
          description="Edit it as JSON, or choose another type here."
          autosize
          minRows={3}
          maxRows={14}
          value={draft.kept}
          error={errorAt('/schedule')}
          readOnly
          classNames={{ input: classes.mono ?? '' }}
        />
      )}
      {draft.when === 'manual' && <p className={classes.hint}>Runs only when triggered.</p>}
      {hasZone && <Zone draft={draft} change={change} errorAt={errorAt} />}
      {draft.when !== 'once' && draft.when !== 'manual' && (
        <div className={classes.three}>
          {BOUNDS.map((box) => (
            <FieldBox key={box.name} box={box} {...props} />
          ))}
        </div>
      )}
      {draft.when !== 'manual' && OTHERS.map((box) => <FieldBox key={box.name} box={box} {...props} />)}
    </Question>
  )
}

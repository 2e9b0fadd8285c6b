/** The form for a task, new or not: four questions on the left, on the right what follows from the answers. */
import { Button, NativeSelect, SegmentedControl, Select, TagsInput, Textarea, TextInput } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { HTTP_METHODS } from '../../../src/core/action.ts'
import { MISFIRE_POLICIES, OVERLAP_POLICIES, WORKER_LOSS_POLICIES } from '../../../src/core/task.ts'
import { zoneWord } from '../../../src/core/words/time.ts'
import { ApiError } from '../../api/client.ts'
import type { FieldProblem } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { myZone, zoneChoices } from '../../time/zone.ts'
import type { Draft } from './draft.ts'
import classes from './task-form.module.css'

interface TaskFormProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** What is wrong, as the server said it: with what was sent, or with the schedule as it stands. */
  readonly problems: readonly FieldProblem[]
  readonly error: unknown
  readonly isBusy: boolean
  readonly buttons: ReactNode
  readonly aside: ReactNode
  readonly onSave: () => void
}

type Change = (change: Partial<Draft>) => void
/** What is wrong with the field that a pointer names, or with anything inside it. */
type ErrorAt = (pointer: string) => string | undefined

/** Fields of the form, by pointer; problems elsewhere are told above the buttons. */
const SHOWN = [
  '/name',
  '/key',
  '/owner',
  '/tags',
  '/action/url',
  '/action/method',
  '/action/headers',
  '/action/body',
  '/action/expect',
  '/action/duration',
  '/schedule',
  '/schedule/at',
  '/schedule/interval',
  '/schedule/expression',
  '/schedule/hour',
  '/schedule/minute',
  '/schedule/timezone',
  '/schedule/gap',
  '/schedule/fold',
  '/startAt',
  '/endAt',
  '/maxRuns',
  '/retry/limit',
  '/retry/initial',
  '/retry/max',
  '/timeout',
  '/misfire/window',
  '/queue',
  '/priority',
  '/labels',
  '/concurrencyKey',
  '/concurrencyLimit',
]

export function TaskForm({
  draft,
  onChange,
  problems,
  error,
  isBusy,
  buttons,
  aside,
  onSave,
}: TaskFormProps) {
  const change: Change = (part) => onChange({ ...draft, ...part })
  const isAt = (pointer: string, place: string) => pointer === place || pointer.startsWith(`${place}/`)
  const errorAt: ErrorAt = (place) => problems.find(({ pointer }) => isAt(pointer, place))?.detail
  const isShown = ({ pointer }: FieldProblem) => SHOWN.some((place) => isAt(pointer, place))
  const isToldElsewhere = error instanceof ApiError && error.fields.length > 0 && error.fields.every(isShown)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave()
  }
  const parts = { draft, change, errorAt }
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <div className={classes.left}>
        <What {...parts} />
        <When {...parts} />
        <Wrong {...parts} />
        <Who {...parts} />
        {error !== null && !isToldElsewhere && <Failure error={error} />}
        {isToldElsewhere && (
          <p role="alert" className={classes.refused}>
            Not saved: {problems.length === 1 ? 'one field is' : `${problems.length} fields are`} not right
            yet.
          </p>
        )}
        <div className={classes.buttons} aria-busy={isBusy}>
          {buttons}
        </div>
      </div>
      <aside className={classes.right} aria-label="What will happen">
        {aside}
      </aside>
    </form>
  )
}

interface PartProps {
  readonly draft: Draft
  readonly change: Change
  readonly errorAt: ErrorAt
}

function Part({
  number,
  title,
  children,
}: {
  readonly number: number
  readonly title: string
  readonly children: ReactNode
}) {
  const id = useId()
  return (
    <section className={classes.part} aria-labelledby={id}>
      <h2 id={id} className={classes.question}>
        <span className={classes.number} aria-hidden="true">
          {number}
        </span>
        {title}
      </h2>
      <div className={classes.fields}>{children}</div>
    </section>
  )
}

const ACTIONS = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'ping', label: 'Ping' },
  { value: 'http', label: 'HTTP' },
  { value: 'slack', label: 'Slack' },
  { value: 'email', label: 'Email' },
  { value: 'handler', label: 'Handler' },
  { value: 'sleep', label: 'Sleep' },
]

function What({ draft, change, errorAt }: PartProps) {
  const hasBody = draft.action === 'webhook' || draft.action === 'http'
  return (
    <Part number={1} title="What">
      <TextInput
        label="Name"
        placeholder="nightly backup"
        value={draft.name}
        error={errorAt('/name')}
        onChange={(event) => change({ name: event.currentTarget.value })}
        data-autofocus
      />
      <Choice
        label="Action"
        value={draft.action}
        choices={ACTIONS}
        onChange={(action) => change({ action: action as Draft['action'] })}
      />
      {draft.action === 'sleep' ? (
        <TextInput
          label="For how long"
          description="Simulated work: 500ms, 10s, 1h30m"
          value={draft.duration}
          error={errorAt('/action/duration')}
          onChange={(event) => change({ duration: event.currentTarget.value })}
        />
      ) : draft.action === 'email' ? (
        <>
          <Textarea
            label="To"
            description="Addresses, one a line or with commas between them"
            placeholder="Ada <ada@example.com>"
            autosize
            minRows={1}
            maxRows={6}
            value={draft.to}
            error={errorAt('/action/to')}
            onChange={(event) => change({ to: event.currentTarget.value })}
          />
          <TextInput
            label="Subject"
            value={draft.subject}
            error={errorAt('/action/subject')}
            onChange={(event) => change({ subject: event.currentTarget.value })}
          />
        </>
      ) : draft.action === 'handler' ? (
        <>
          <TextInput
            label="Handler"
            description="The name that a worker of yours offers"
            placeholder="resize"
            value={draft.handler}
            error={errorAt('/action/name')}
            onChange={(event) => change({ handler: event.currentTarget.value })}
          />
          <Textarea
            label="Payload"
            description="What the handler is called with: JSON, or any text"
            autosize
            minRows={3}
            maxRows={14}
            value={draft.payload}
            error={errorAt('/action/payload')}
            onChange={(event) => change({ payload: event.currentTarget.value })}
            classNames={{ input: classes.mono ?? '' }}
          />
        </>
      ) : (
        <div className={draft.action === 'http' ? classes.request : undefined}>
          {draft.action === 'http' && (
            <NativeSelect
              label="Method"
              value={draft.method}
              data={[...HTTP_METHODS]}
              onChange={(event) => change({ method: event.currentTarget.value as Draft['method'] })}
            />
          )}
          <TextInput
            label="URL"
            description={
              draft.action === 'ping'
                ? 'Gets a GET.'
                : draft.action === 'webhook'
                  ? 'Gets a POST.'
                  : draft.action === 'slack'
                    ? 'The incoming webhook. Whoever knows it can write to the channel.'
                    : undefined
            }
            type="url"
            placeholder="https://example.com/hook"
            value={draft.url}
            error={errorAt('/action/url')}
            onChange={(event) => change({ url: event.currentTarget.value })}
          />
        </div>
      )}
      {(draft.action === 'slack' || draft.action === 'email') && (
        <Textarea
          label="Message"
          autosize
          minRows={3}
          maxRows={14}
          value={draft.message}
          error={errorAt('/action/text')}
          onChange={(event) => change({ message: event.currentTarget.value })}
        />
      )}
      {draft.action === 'http' && (
        <Textarea
          label="Headers"
          description="One a line, such as accept: application/json"
          autosize
          minRows={2}
          maxRows={8}
          value={draft.headers}
          error={errorAt('/action/headers')}
          onChange={(event) => change({ headers: event.currentTarget.value })}
          classNames={{ input: classes.mono ?? '' }}
        />
      )}
      {hasBody && (
        <Textarea
          label="Body"
          description="JSON, or any text"
          autosize
          minRows={3}
          maxRows={14}
          value={draft.body}
          error={errorAt('/action/body')}
          onChange={(event) => change({ body: event.currentTarget.value })}
          classNames={{ input: classes.mono ?? '' }}
        />
      )}
      {draft.action === 'http' && (
        <TextInput
          label="Good answers"
          description="Statuses that count as success, such as 200, 404 or 2xx. Empty: 2xx."
          value={draft.expect}
          error={errorAt('/action/expect')}
          onChange={(event) => change({ expect: event.currentTarget.value })}
        />
      )}
    </Part>
  )
}

const SCHEDULES = [
  { value: 'words', label: 'Words' },
  { value: 'daily', label: 'Daily' },
  { value: 'cron', label: 'Cron' },
  { value: 'every', label: 'Every' },
  { value: 'delay', label: 'Delay' },
  { value: 'once', label: 'Once' },
  { value: 'manual', label: 'By hand' },
]

const PRESETS = [
  { label: 'Weekdays 9:00', expression: '0 9 * * MON-FRI' },
  { label: 'Every hour', expression: '0 * * * *' },
  { label: 'Every 5 minutes', expression: '*/5 * * * *' },
  { label: 'Mondays 8:00', expression: '0 8 * * MON' },
  { label: 'First of the month', expression: '0 9 1 * *' },
  { label: 'Last day of the month', expression: '0 9 L * *' },
]

const keptType = ({ kept }: Draft): string => (JSON.parse(kept) as { type: string }).type

function When({ draft, change, errorAt }: PartProps) {
  const hasZone = draft.when === 'daily' || draft.when === 'cron'
  return (
    <Part number={2} title="When">
      <Choice
        label="Schedule"
        value={draft.when}
        choices={
          draft.kept === '' ? SCHEDULES : [{ value: keptType(draft), label: 'As it is' }, ...SCHEDULES]
        }
        onChange={(when) => change({ when: when as Draft['when'] })}
      />
      {draft.when === 'words' && (
        <TextInput
          label="When, in words"
          description="every 15 minutes between 8 and 18 · last day of the month at 18:00 · in 10 minutes; times are in UTC unless a zone follows"
          value={draft.words}
          error={errorAt('/schedule')}
          onChange={(event) => change({ words: event.currentTarget.value })}
          spellCheck={false}
        />
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
          label={draft.when === 'every' ? 'Every' : 'Again this long after each run has ended'}
          description="500ms, 10s, 5m, 1h30m, 1d"
          value={draft.interval}
          error={errorAt('/schedule/interval')}
          onChange={(event) => change({ interval: event.currentTarget.value })}
        />
      )}
      {draft.when === 'once' && (
        <TextInput
          label={`At, in your zone (${zoneWord(myZone())})`}
          type="datetime-local"
          step={1}
          value={draft.at}
          error={errorAt('/schedule/at')}
          onChange={(event) => change({ at: event.currentTarget.value })}
        />
      )}
      {draft.kept !== '' && draft.when === keptType(draft) && (
        <Textarea
          label="Schedule as JSON"
          description="It stays as it is; change it through the API, or choose another kind here."
          autosize
          minRows={3}
          maxRows={14}
          value={draft.kept}
          error={errorAt('/schedule')}
          readOnly
          classNames={{ input: classes.mono ?? '' }}
        />
      )}
      {draft.when === 'manual' && (
        <p className={classes.hint}>Runs only when somebody, or a program, triggers it.</p>
      )}
      {hasZone && <Zone draft={draft} change={change} errorAt={errorAt} />}
      {draft.when !== 'once' && draft.when !== 'manual' && (
        <Bounds draft={draft} change={change} errorAt={errorAt} />
      )}
    </Part>
  )
}

function Cron({ draft, change, errorAt }: PartProps) {
  return (
    <>
      <TextInput
        label="Cron expression"
        description="minute hour day month weekday; a sixth field in front is for seconds"
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

function Zone({ draft, change, errorAt }: PartProps) {
  return (
    <div className={classes.three}>
      <Select
        label="Time zone"
        searchable
        limit={30}
        data={zoneChoices(myZone(), draft.timezone)}
        value={draft.timezone}
        error={errorAt('/schedule/timezone')}
        onChange={(timezone) => timezone !== null && change({ timezone })}
        nothingFoundMessage="No such zone"
        withScrollArea={false}
        styles={{ options: { maxHeight: '15rem', overflowY: 'auto' } }}
        comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
      />
      <NativeSelect
        label="Clocks skip the time"
        value={draft.gap}
        data={[
          { value: 'next', label: 'fire right after' },
          { value: 'skip', label: 'skip that day' },
        ]}
        onChange={(event) => change({ gap: event.currentTarget.value as Draft['gap'] })}
      />
      <NativeSelect
        label="Clocks repeat the time"
        value={draft.fold}
        data={[
          { value: 'first', label: 'fire the first time' },
          { value: 'last', label: 'fire the last time' },
          { value: 'both', label: 'fire both times' },
        ]}
        onChange={(event) => change({ fold: event.currentTarget.value as Draft['fold'] })}
      />
    </div>
  )
}

function Bounds({ draft, change, errorAt }: PartProps) {
  return (
    <div className={classes.three}>
      <TextInput
        label={`Not before (${zoneWord(myZone())})`}
        type="datetime-local"
        value={draft.startAt}
        error={errorAt('/startAt')}
        onChange={(event) => change({ startAt: event.currentTarget.value })}
      />
      <TextInput
        label={`Not after (${zoneWord(myZone())})`}
        type="datetime-local"
        value={draft.endAt}
        error={errorAt('/endAt')}
        onChange={(event) => change({ endAt: event.currentTarget.value })}
      />
      <TextInput
        label="At most so many runs"
        inputMode="numeric"
        placeholder="no limit"
        value={draft.maxRuns}
        error={errorAt('/maxRuns')}
        onChange={(event) => change({ maxRuns: event.currentTarget.value })}
      />
    </div>
  )
}

const OVERLAP_WORDS = {
  skip: 'skip it',
  allow: 'run both',
  queue_one: 'let one wait',
  queue_all: 'let all wait',
  cancel_previous: 'cancel the earlier run',
}
const MISFIRE_WORDS = {
  run_once: 'run once',
  run_all: 'run all of them',
  skip: 'skip them',
  fail: 'let them fail',
}
const LOSS_WORDS = { retry: 'run it again (at least once)', fail: 'give it up (at most once)' }

const options = <T extends string>(values: readonly T[], words: Readonly<Record<string, string>>) =>
  values.map((value) => ({ value, label: words[value] ?? value }))

function Wrong({ draft, change, errorAt }: PartProps) {
  return (
    <Part number={3} title="If it goes wrong">
      <div className={classes.three}>
        <TextInput
          label="Retries"
          inputMode="numeric"
          value={draft.retryLimit}
          error={errorAt('/retry/limit')}
          onChange={(event) => change({ retryLimit: event.currentTarget.value })}
        />
        <TextInput
          label="First wait"
          value={draft.retryInitial}
          error={errorAt('/retry/initial')}
          onChange={(event) => change({ retryInitial: event.currentTarget.value })}
        />
        <TextInput
          label="Longest wait"
          value={draft.retryMax}
          error={errorAt('/retry/max')}
          onChange={(event) => change({ retryMax: event.currentTarget.value })}
        />
      </div>
      <div className={classes.two}>
        <TextInput
          label="Stop an attempt after"
          value={draft.timeout}
          error={errorAt('/timeout')}
          onChange={(event) => change({ timeout: event.currentTarget.value })}
        />
        <NativeSelect
          label="Due while a run is active"
          value={draft.overlap}
          data={options(OVERLAP_POLICIES, OVERLAP_WORDS)}
          onChange={(event) => change({ overlap: event.currentTarget.value as Draft['overlap'] })}
        />
        <NativeSelect
          label="Missed while nobody was there"
          value={draft.misfirePolicy}
          data={options(MISFIRE_POLICIES, MISFIRE_WORDS)}
          onChange={(event) => change({ misfirePolicy: event.currentTarget.value as Draft['misfirePolicy'] })}
        />
        <TextInput
          label="If not older than"
          value={draft.misfireWindow}
          error={errorAt('/misfire/window')}
          onChange={(event) => change({ misfireWindow: event.currentTarget.value })}
        />
        <NativeSelect
          label="When its worker dies"
          value={draft.onWorkerLoss}
          data={options(WORKER_LOSS_POLICIES, LOSS_WORDS)}
          onChange={(event) => change({ onWorkerLoss: event.currentTarget.value as Draft['onWorkerLoss'] })}
        />
      </div>
    </Part>
  )
}

function Who({ draft, change, errorAt }: PartProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Part number={4} title="Who and where">
      <div className={classes.two}>
        <TagsInput
          label="Tags"
          value={[...draft.tags]}
          error={errorAt('/tags')}
          onChange={(tags) => change({ tags })}
          comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
        />
        <TextInput
          label="Owner"
          value={draft.owner}
          error={errorAt('/owner')}
          onChange={(event) => change({ owner: event.currentTarget.value })}
        />
      </div>
      <details
        open={isOpen || errorAt('/key') !== undefined}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className={classes.summary}>Key, queue, workers and limits</summary>
        <div className={`${classes.two} ${classes.folded}`}>
          <TextInput
            label="Key"
            description="Your own name for it, unique"
            value={draft.key}
            error={errorAt('/key')}
            onChange={(event) => change({ key: event.currentTarget.value })}
          />
          <TextInput
            label="Queue"
            description="Where its runs wait for a worker"
            value={draft.queue}
            error={errorAt('/queue')}
            onChange={(event) => change({ queue: event.currentTarget.value })}
          />
          <TextInput
            label="Priority"
            description="The smaller number goes first"
            inputMode="numeric"
            value={draft.priority}
            error={errorAt('/priority')}
            onChange={(event) => change({ priority: event.currentTarget.value })}
          />
          <TagsInput
            label="Labels"
            description="What a worker must offer"
            value={[...draft.labels]}
            error={errorAt('/labels')}
            onChange={(labels) => change({ labels })}
            comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
          />
          <TextInput
            label="Concurrency key"
            description="Tasks with the same key share places"
            value={draft.concurrencyKey}
            error={errorAt('/concurrencyKey')}
            onChange={(event) => change({ concurrencyKey: event.currentTarget.value })}
          />
          <TextInput
            label="Places"
            description="Runs with this key at once"
            inputMode="numeric"
            value={draft.concurrencyLimit}
            error={errorAt('/concurrencyLimit')}
            onChange={(event) => change({ concurrencyLimit: event.currentTarget.value })}
          />
        </div>
      </details>
    </Part>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
  readonly onChange: (value: string) => void
}

/** A few exclusive choices, side by side. */
function Choice({ label, value, choices, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <div>
      <span id={id} className={classes.label}>
        {label}
      </span>
      <SegmentedControl
        aria-labelledby={id}
        fullWidth
        value={value}
        data={[...choices]}
        onChange={onChange}
        transitionDuration={0}
        withItemsBorders={false}
        classNames={{ root: classes.choice ?? '' }}
      />
    </div>
  )
}

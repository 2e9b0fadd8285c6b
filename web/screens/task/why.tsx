import { Button } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { MINUTE_MS } from '../../../src/core/values/time-units.ts'
import { whyQuery, whyThenQuery } from '../../api/tasks.ts'
import type { Task, WhyNotRunning } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Instant, useShownZone } from '../../components/instant.tsx'
import { InstantField } from '../../components/instant-field.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { serverNow } from '../../time/clock.ts'
import classes from './why.module.css'

/** Available workers change without a change of the task, so the answer is polled. */
const ASK_AGAIN_MS = 5_000

/** Codes of the normal state, which are not shown beside an obstacle. */
const ORDINARY: readonly WhyNotRunning['code'][] = ['running', 'starting', 'not_due', 'manual_only']
const isOrdinary = ({ code }: Pick<WhyNotRunning, 'code'>): boolean => ORDINARY.includes(code)

interface WhyProps {
  readonly task: Task
  /** A past instant; undefined for now. */
  readonly at: string | undefined
}

/** Why the task is not or was not running: the main cause, what to do about it, and other obstacles. */
export function Why({ task, at }: WhyProps) {
  // Keeps the focus here after a click on an instant, because the clicked element disappears.
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const ask = (at: string | undefined) => {
    setAsking(true)
    // The instant is in the address; undefined removes it.
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, at }) as never,
      resetScroll: false,
    })
  }
  const asking = { task, isAsking, onAsk: ask }
  return at === undefined ? <WhyNow {...asking} /> : <WhyThen {...asking} at={at} />
}

interface AskingProps {
  readonly task: Task
  readonly isAsking: boolean
  readonly onAsk: (at: string | undefined) => void
}

/** Focuses the element when it appears, if the user is asking about an instant. */
const focusIf = (isAsking: boolean) => (element: HTMLElement | null) => {
  if (isAsking) element?.focus({ preventScroll: true })
}

function WhyNow({ task, isAsking, onAsk }: AskingProps) {
  const { data, error } = useQuery({
    ...whyQuery(task),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_AGAIN_MS,
  })
  const [focus] = useState(() => focusIf(isAsking))
  if (error && !data) return <Failure error={error} />
  if (!data) return <Bones count={1} />
  const aside = (
    <span className={classes.aside}>
      <code className={classes.code}>{data.code}</code>
      <Button ref={focus} size="compact-xs" variant="default" onClick={() => onAsk(aMinuteAgo())}>
        Check an earlier time…
      </Button>
    </span>
  )
  if (isOrdinary(data) && data.also.every(isOrdinary))
    return (
      <section className={classes.quiet} aria-label="Why is it not running?">
        <Cause cause={{ ...data, advice: null }} zone={task.timezone} />
        {aside}
      </section>
    )
  return (
    <Panel title="Why is it not running?" aside={aside}>
      <Answer why={data} zone={task.timezone} />
    </Panel>
  )
}

function WhyThen({ task, at, isAsking, onAsk }: AskingProps & { readonly at: string }) {
  const { data, error } = useQuery({ ...whyThenQuery(task.id, at), placeholderData: keepPreviousData })
  const isTime = !Number.isNaN(Date.parse(at))
  return (
    <Panel
      title="Why was it not running at that time?"
      aside={data && !error && <code className={classes.code}>{data.code}</code>}
    >
      <div className={classes.then}>
        <When key={at} at={isTime ? at : ''} zone={task.timezone} isAsking={isAsking} onAsk={onAsk} />
        <Button variant="default" onClick={() => onAsk(undefined)}>
          Back to now
        </Button>
      </div>
      {isTime && (
        <p className={classes.advice}>
          At <Instant at={at} zone={task.timezone} precision="second" />
        </p>
      )}
      {error ? (
        <Failure error={error} />
      ) : data ? (
        <Answer why={data} zone={task.timezone} />
      ) : (
        <Bones count={1} />
      )}
    </Panel>
  )
}

interface WhenProps {
  readonly at: string
  readonly zone: string | null
  readonly isAsking: boolean
  readonly onAsk: (at: string) => void
}

/** Asks when the field is left or Enter is pressed, because each typed part would be another question. */
function When({ at, zone, isAsking, onAsk }: WhenProps) {
  const [focus] = useState(() => focusIf(isAsking))
  const [typed, setTyped] = useState(at)
  const ask = () => {
    if (typed !== '' && typed !== at) onAsk(typed)
  }
  return (
    <InstantField
      label="At"
      ref={focus}
      step={1}
      zone={useShownZone(zone)}
      value={typed}
      onInstant={setTyped}
      onBlur={ask}
      onKeyDown={(event) => event.key === 'Enter' && ask()}
    />
  )
}

/** Rounded to minutes: the initial value of the field. */
const aMinuteAgo = (): string =>
  new Date(Math.floor((serverNow() - MINUTE_MS) / MINUTE_MS) * MINUTE_MS).toISOString()

interface AnswerProps {
  readonly why: WhyNotRunning
  readonly zone: string | null
}

function Answer({ why, zone }: AnswerProps) {
  const also = why.also.filter((cause) => !isOrdinary(cause))
  return (
    <div className={classes.answer}>
      <Cause cause={why} zone={zone} />
      {also.length > 0 && (
        <ul className={classes.also} aria-label="Other causes">
          {also.map((cause) => (
            <li key={cause.code}>
              <Cause cause={cause} zone={zone} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface CauseProps {
  readonly cause: Pick<WhyNotRunning, 'sentence' | 'advice' | 'facts'>
  readonly zone: string | null
}

function Cause({ cause: { sentence, advice, facts }, zone }: CauseProps) {
  return (
    <div>
      <p>
        <Sentence text={sentence} zone={zone} />{' '}
        {facts.runId && (
          <Link to="/runs/$runId" params={{ runId: facts.runId }}>
            View this run
          </Link>
        )}{' '}
        {facts.target && (
          <Link to="/targets/$target" params={{ target: facts.target }}>
            View this target
          </Link>
        )}{' '}
        {facts.queue && (
          <Link to="/queues/$queue" params={{ queue: facts.queue }}>
            View this queue
          </Link>
        )}
      </p>
      {advice && (
        <p className={classes.advice}>
          <Sentence text={advice} zone={zone} />
        </p>
      )}
    </div>
  )
}

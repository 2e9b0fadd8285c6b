/**
 * The latest runs of a task, oldest first. The height shows how long each took compared with the others; colour and shape show
 * the result. A failure reaches the top and has a notch; a skip is hatched.
 */
import { useNavigate } from '@tanstack/react-router'
import { formatDuration, formatInstant } from '../../src/core/words/time.ts'
import type { Task } from '../api/wire.ts'
import { serverNow } from '../time/clock.ts'
import { HATCHED } from './hatching.tsx'
import { useShownZone } from './instant.tsx'
import classes from './run-strip.module.css'
import { LOOKS } from './state.ts'
import { stripOf } from './strip.ts'

const SHOWN = 20
const SLOT = 7
const BAR = 5
const HEIGHT = 28

interface RunStripProps {
  readonly recent: NonNullable<Task['recent']>
  /** Whether a run is in progress: a strip without ended runs does not mean that none has started. */
  readonly isOnItsWay: boolean
  /** The zone of the task. */
  readonly zone: string | null
}

export function RunStrip({ recent, isOnItsWay, zone }: RunStripProps) {
  const shown = useShownZone(zone)
  const navigate = useNavigate()
  const bars = stripOf(recent.slice(0, SHOWN))
  if (bars.length === 0)
    return <span className={classes.none}>{isOnItsWay ? 'none ended yet' : '○ never ran'}</span>
  return (
    <svg
      className={classes.strip}
      width={SHOWN * SLOT}
      height={HEIGHT}
      viewBox={`0 0 ${SHOWN * SLOT} ${HEIGHT}`}
      role="img"
      aria-label={labelOf(recent)}
    >
      {bars.map(({ run, height }, index) => {
        const { colour, word } = LOOKS[run.state]
        const x = index * SLOT
        const y = HEIGHT - height * HEIGHT
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the task's page lists the same runs.
          <g
            key={run.id}
            className={classes.bar}
            data-state={run.state}
            style={{ color: `var(${colour})` }}
            onClick={() => void navigate({ to: '/runs/$runId', params: { runId: run.id } })}
          >
            <title>{`${word}${run.reason ? `: ${run.reason}` : ''}, due ${formatInstant(Date.parse(run.scheduledFor), shown, { now: serverNow(), precision: 'second' })}${
              run.durationMs === null ? '' : `, took ${formatDuration(run.durationMs)}`
            }`}</title>
            <rect className={classes.hit} x={x} y={0} width={SLOT} height={HEIGHT} />
            <rect
              className={classes.fill}
              x={x + 0.5}
              y={y}
              width={BAR}
              height={HEIGHT - y}
              rx={1}
              fill={run.state === 'skipped' ? HATCHED : run.state === 'cancelled' ? 'none' : 'currentColor'}
            />
            {run.state === 'permanently_failed' && (
              <path className={classes.notch} d={`M${x + 1.5} 3l3 3m0-3l-3 3`} />
            )}
          </g>
        )
      })}
    </svg>
  )
}

function labelOf(recent: NonNullable<Task['recent']>): string {
  const counts = new Map<string, number>()
  for (const { state } of recent) counts.set(LOOKS[state].word, (counts.get(LOOKS[state].word) ?? 0) + 1)
  return `Last ${recent.length} ${recent.length === 1 ? 'run' : 'runs'}: ${[...counts].map(([word, count]) => `${count} ${word}`).join(', ')}`
}

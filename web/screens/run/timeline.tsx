/**
 * The timeline of a run: lateness, attempts and the waits between them, with widths in proportion to their durations and a
 * minimum width. A description is provided for screen readers.
 */

import { formatClock, formatDuration, zoneWord } from '../../../src/core/words/time.ts'
import type { RunWithAttempts } from '../../api/wire.ts'
import { useShownZone } from '../../components/instant.tsx'
import { Panel } from '../../components/panel.tsx'
import { LOOKS } from '../../components/state.ts'
import { StateShape } from '../../components/state-mark.tsx'
import { useNow } from '../../time/clock.ts'
import { type Stretch, stretchesOf } from './stretches.ts'
import classes from './timeline.module.css'

export function Timeline({ run, zone }: { readonly run: RunWithAttempts; readonly zone: string | null }) {
  const now = useNow()
  const shown = useShownZone(zone)
  const stretches = stretchesOf(run, now)
  return (
    <Panel title="Timeline" aside={<span className={classes.zone}>times in {zoneWord(shown)}</span>}>
      <ol className={classes.line}>
        {stretches.map((stretch) => (
          <li
            key={stretch.key}
            className={classes.stretch}
            data-kind={stretch.kind}
            style={{ flexGrow: Math.max(stretch.ms, 1), color: `var(${colourOf(stretch)})` }}
          >
            <span className={classes.bar} aria-hidden="true" />
            <span className={classes.what}>
              {stretch.kind === 'attempt' && <StateShape state={stretch.state} />}
              {stretch.label}
            </span>
            <span className={classes.took}>{formatDuration(stretch.ms)}</span>
            <span className={classes.at}>{formatClock(stretch.from, shown)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

const colourOf = (stretch: Stretch): string =>
  stretch.kind === 'attempt' ? LOOKS[stretch.state].colour : '--idle'

/** Key figures, each with a link to what it counts. */
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { formatCount, formatDuration, formatShare } from '../../../src/core/words/time.ts'
import type { Stats } from '../../api/overview.ts'
import { countWords } from '../../components/count-words.ts'
import classes from './tiles.module.css'

const SOON_MINUTES = 5
/** With a no-break space, because tiles on phones are narrow. */
const DAY = '24\u00a0h'

export function Tiles({ stats }: { readonly stats: Stats }) {
  const { lastDay, runs, places, tasks, next } = stats
  const ended = lastDay.completed + lastDay.permanentlyFailed
  const soon = next.minutes.slice(0, SOON_MINUTES).reduce((sum, { count }) => sum + count, 0)
  return (
    <ul className={classes.tiles}>
      <Tile label={`Lateness p50 / p99, ${DAY}`} to={{ to: '/runs', search: { since: '24h' } }}>
        {lastDay.latenessMs === null
          ? '–'
          : `${formatDuration(lastDay.latenessMs.p50)} / ${formatDuration(lastDay.latenessMs.p99)}`}
      </Tile>
      <Tile label={`Success rate, ${DAY}`} to={{ to: '/runs', search: { since: '24h', state: 'completed' } }}>
        {formatShare(lastDay.completed, ended)}
      </Tile>
      <Tile
        label={`Permanently failed, ${DAY}`}
        to={{ to: '/runs', search: { since: '24h', state: 'permanently_failed' } }}
      >
        {formatCount(lastDay.permanentlyFailed)}
      </Tile>
      <Tile label="Running / slots" to={{ to: '/runs', search: { state: 'running' } }}>
        {countWords(runs.running)} / {formatCount(places.total)}
      </Tile>
      <Tile label="Waiting for a worker" to={{ to: '/runs', search: { state: 'pending' } }}>
        {countWords(runs.pending)}
      </Tile>
      <Tile label="Retrying" to={{ to: '/runs', search: { state: 'retrying' } }}>
        {countWords(runs.retrying)}
      </Tile>
      <Tile
        label={`Due in the next ${SOON_MINUTES} minutes`}
        to={{ to: '/tasks', search: { state: 'scheduled' } }}
      >
        {next.atLeast ? '≥ ' : next.isEstimate ? '≈ ' : ''}
        {formatCount(soon)}
      </Tile>
      <Tile label="Tasks" to={{ to: '/tasks' }}>
        {countWords(tasks.total)}
      </Tile>
    </ul>
  )
}

interface TileProps {
  readonly label: string
  readonly to: LinkProps
  readonly children: ReactNode
}

function Tile({ label, to, children }: TileProps) {
  return (
    <li>
      <Link {...to} className={classes.tile}>
        <span className={classes.label}>{label}</span>
        <span className={classes.value}>{children}</span>
      </Link>
    </li>
  )
}

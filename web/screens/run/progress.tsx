import type { RunWithAttempts } from '../../api/wire.ts'
import { Distance, Instant } from '../../components/instant.tsx'
import { Panel } from '../../components/panel.tsx'
import classes from './progress.module.css'

interface ProgressProps {
  readonly progress: NonNullable<RunWithAttempts['progress']>
  readonly zone: string | null
}

/** Progress as a handler reports it. */
export function Progress({ progress: { fraction, message, at }, zone }: ProgressProps) {
  const percent = fraction === null ? null : Math.round(fraction * 100)
  return (
    <Panel
      title="Progress"
      aside={
        <span className={classes.said}>
          reported <Distance at={at} /> · <Instant at={at} zone={zone} precision="second" />
        </span>
      }
    >
      <div className={classes.body}>
        {percent !== null && (
          <div className={classes.line}>
            <progress className={classes.bar} max={100} value={percent} aria-label="Progress" />
            <strong className={classes.percent}>{percent} %</strong>
          </div>
        )}
        {message !== null && <p className={classes.message}>{message}</p>}
      </div>
    </Panel>
  )
}

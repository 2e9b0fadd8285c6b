/** The overview: whether everything is on time, or, before there are tasks, how to start. */
import { useQuery } from '@tanstack/react-query'
import { type Stats, statsQuery } from '../../api/overview.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { StateShape } from '../../components/state-mark.tsx'
import { useTitle } from '../../components/title.ts'
import { Attention } from './attention.tsx'
import { FirstRun } from './first-run.tsx'
import { History } from './history.tsx'
import { NextHour } from './next-hour.tsx'
import classes from './overview-screen.module.css'
import { Tiles } from './tiles.tsx'

export function OverviewScreen() {
  useTitle('Overview')
  const { data: stats, error, refetch } = useQuery(statsQuery)
  if (error && !stats) return <Failure error={error} onRetry={() => void refetch()} />
  if (!stats) return <Bones count={3} />
  if (isUntouched(stats) && stats.verdict.isFine && !error) return <FirstRun />
  return <Overview stats={stats} error={error} />
}

/** Whether there are no tasks and no runs within the last day. */
function isUntouched({ tasks, lastDay }: Stats): boolean {
  return tasks.total.count === 0 && lastDay.completed + lastDay.permanentlyFailed + lastDay.skipped === 0
}

/** If the server cannot provide statistics, the reason takes the place of the verdict. */
function Overview({ stats, error }: { readonly stats: Stats; readonly error: unknown }) {
  return (
    <div className={classes.screen}>
      {error ? <Failure error={error} /> : <Verdict stats={stats} />}
      <Tiles stats={stats} />
      <div className={classes.columns}>
        <div className={classes.column}>
          <History minutes={stats.minutes} />
          <Panel title="Due in the next 60 minutes">
            <NextHour next={stats.next} />
          </Panel>
        </div>
        <Panel title="Needs attention">
          <Attention stats={stats} />
        </Panel>
      </div>
    </div>
  )
}

/** One sentence, written by the server from its counts. */
function Verdict({ stats: { verdict } }: { readonly stats: Stats }) {
  return (
    <h1 className={classes.verdict} data-fine={verdict.isFine}>
      <StateShape state={verdict.isFine ? 'completed' : 'failing'} />
      <span>{verdict.sentence}</span>
    </h1>
  )
}

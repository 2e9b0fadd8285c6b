/** Results and lateness of runs over the range that the address names. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { historyQuery, type Steps } from '../../api/overview.ts'
import { CHART_RANGES, type ChartRange } from '../../app/router.tsx'
import { Failure } from '../../components/failure.tsx'
import { Panel } from '../../components/panel.tsx'
import classes from './charts.module.css'
import { LatenessChart } from './lateness-chart.tsx'
import { RANGE_WORDS } from './range-words.ts'
import { ThroughputChart } from './throughput-chart.tsx'

const route = getRouteApi('/')

/** The overview already includes the last hour; longer ranges are requested. */
export function History({ minutes }: { readonly minutes: Steps }) {
  const { range = '1h' } = route.useSearch()
  const { data, error } = useQuery({
    ...historyQuery(range),
    enabled: range !== '1h',
    placeholderData: keepPreviousData,
  })
  const steps = range === '1h' ? minutes : (data?.steps ?? [])
  return (
    <>
      <Panel title={`Ended runs, ${RANGE_WORDS[range]}`} aside={<Ranges chosen={range} />}>
        {error && !data ? <Failure error={error} /> : <ThroughputChart steps={steps} range={range} />}
      </Panel>
      <Panel title={`Lateness, ${RANGE_WORDS[range]}`}>
        <LatenessChart steps={steps} range={range} />
      </Panel>
    </>
  )
}

function Ranges({ chosen }: { readonly chosen: ChartRange }) {
  return (
    <nav className={classes.ranges} aria-label="Time range">
      {CHART_RANGES.map((range) => (
        <Link
          key={range}
          to="/"
          search={range === '1h' ? {} : { range }}
          // Otherwise every range would count as a link to the current page.
          activeOptions={{ exact: true }}
          aria-current={range === chosen ? 'page' : undefined}
          replace
          resetScroll={false}
          className={classes.range}
        >
          {range}
        </Link>
      ))}
    </nav>
  )
}

/** The runs of all tasks, latest first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { itemsOf } from '../../api/pages.ts'
import { runsQuery } from '../../api/runs.ts'
import { refreshMs } from '../../app/live.ts'
import { FreshRows } from '../../components/fresh-rows.tsx'
import { SinceFilter, StateFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { RunTable } from '../../components/run-table.tsx'
import { Filters, Screen } from '../../components/screen.tsx'
import { useFrom } from '../../components/span.ts'
import { type RunFilters, STATES } from './filters.ts'
import classes from './runs-screen.module.css'

const route = getRouteApi('/runs')

export function RunsScreen() {
  const { state, since } = route.useSearch()
  const options = runsQuery({ state, from: useFrom(since) })
  const query = useInfiniteQuery({ ...options, refetchInterval: refreshMs })
  const runs = itemsOf(query.data)
  const nothing = <NoRuns isFiltered={state !== undefined || since !== undefined} />
  return (
    <Screen title="Runs">
      <RunFilterBar filters={{ ...(state ? { state } : {}), ...(since ? { since } : {}) }} />
      <Paged query={query} count={runs.length} bones={8} nothing={nothing}>
        <Panel title="Latest first" flush>
          <FreshRows queryKey={options.queryKey} />
          <RunTable runs={runs} label="Runs" withTask />
          <More query={query}>Earlier runs</More>
        </Panel>
      </Paged>
    </Screen>
  )
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No runs match these filters.">
      <Link to="/runs" search={{}}>
        Show all runs
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No runs yet. Runs appear here when a task is due or triggered.">
      <Link to="/tasks">Tasks</Link>
    </Nothing>
  )
}

function RunFilterBar({ filters }: { readonly filters: RunFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/runs', search: { ...filters, ...change } as RunFilters, replace: true })
  return (
    <Filters>
      <StateFilter states={STATES} value={filters.state} onChoose={(state) => choose({ state })} />
      <SinceFilter value={filters.since} onChoose={(since) => choose({ since })} />
      {filters.state === 'permanently_failed' && (
        <Link
          to="/dead-letters"
          search={filters.since ? { since: filters.since } : {}}
          className={classes.also}
        >
          Group by error
        </Link>
      )}
    </Filters>
  )
}

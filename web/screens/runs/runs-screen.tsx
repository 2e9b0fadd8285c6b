/** The runs of all tasks, latest first. */
import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { runsQuery } from '../../api/runs.ts'
import { refreshMs } from '../../app/live.ts'
import { Failure } from '../../components/failure.tsx'
import { FreshRows } from '../../components/fresh-rows.tsx'
import { SinceFilter, StateFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { RunTable } from '../../components/run-table.tsx'
import { useFrom } from '../../components/span.ts'
import { useTitle } from '../../components/title.ts'
import { useUntilFound } from '../../components/until-found.ts'
import { type RunFilters, STATES } from './filters.ts'
import classes from './runs-screen.module.css'

const route = getRouteApi('/runs')

export function RunsScreen() {
  useTitle('Runs')
  const { state, since } = route.useSearch()
  const options = runsQuery({ state, from: useFrom(since) })
  const query = useInfiniteQuery({ ...options, refetchInterval: refreshMs })
  const runs = query.data?.pages.flatMap(({ items }) => items) ?? []
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const isSearching = useUntilFound(query, runs.length)
  return (
    <div className={classes.screen}>
      <h1>Runs</h1>
      <Filters filters={{ ...(state ? { state } : {}), ...(since ? { since } : {}) }} />
      {isSearching && <Bones count={8} />}
      {query.isError && !query.data && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {!isSearching && !query.isError && runs.length === 0 && (
        <NoRuns isFiltered={state !== undefined || since !== undefined} />
      )}
      {runs.length > 0 && (
        <Panel title="Latest first" flush>
          <FreshRows queryKey={options.queryKey} />
          <RunTable runs={runs} label="Runs" withTask />
          {hasNextPage && (
            <div className={classes.more}>
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                Earlier runs
              </Button>
            </div>
          )}
        </Panel>
      )}
    </div>
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

function Filters({ filters }: { readonly filters: RunFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/runs', search: { ...filters, ...change } as RunFilters, replace: true })
  return (
    <search className={classes.filters}>
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
    </search>
  )
}

/** The servers that calls go to, by name. */
import { Button, NativeSelect } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { TARGET_STATES } from '../../../src/core/target/target-state.ts'
import { targetStateWords } from '../../../src/core/words/target.ts'
import { targetsQuery } from '../../api/targets.ts'
import { Failure } from '../../components/failure.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { useTitle } from '../../components/title.ts'
import { TypedFilter } from '../../components/typed-filter.tsx'
import type { TargetFilters } from './filters.ts'
import { TargetTable } from './target-table.tsx'
import classes from './targets.module.css'

const route = getRouteApi('/targets')
/** Nodes report every two seconds; no stream carries their counts. */
export const LOOK_AGAIN_MS = 3_000

export function TargetsScreen() {
  useTitle('Targets')
  const { q, state } = route.useSearch()
  const filters = { ...(q ? { q } : {}), ...(state ? { state } : {}) }
  const query = useInfiniteQuery({
    ...targetsQuery(filters),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  })
  const targets = query.data?.pages.flatMap(({ items }) => items) ?? []
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  return (
    <div className={classes.screen}>
      <h1>Targets</h1>
      <Filters filters={filters} />
      {query.isPending && <Bones count={5} />}
      {query.isError && !query.data && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && targets.length === 0 && <NoTargets isFiltered={Object.keys(filters).length > 0} />}
      {targets.length > 0 && (
        <Panel title="By name" flush>
          <TargetTable targets={targets} />
          {hasNextPage && (
            <div className={classes.more}>
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                More targets
              </Button>
            </div>
          )}
        </Panel>
      )}
    </div>
  )
}

function NoTargets({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No targets match these filters.">
      <Link to="/targets" search={{}}>
        Show all targets
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No targets yet. The servers that tasks call appear here for 10 minutes after the last call, and as long as they have settings." />
  )
}

function Filters({ filters }: { readonly filters: TargetFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/targets', search: { ...filters, ...change } as TargetFilters, replace: true })
  return (
    <search className={classes.filters}>
      <TypedFilter label="Name" value={filters.q ?? ''} onChange={(q) => choose({ q })} isMain />
      <NativeSelect
        aria-label="State"
        value={filters.state ?? ''}
        onChange={(event) => choose({ state: event.currentTarget.value })}
        data={[
          { value: '', label: 'Any state' },
          ...TARGET_STATES.map((value) => ({ value, label: targetStateWords(value) })),
        ]}
      />
    </search>
  )
}

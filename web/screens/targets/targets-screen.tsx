/** The servers that tasks call, by name. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { TARGET_STATES } from '../../../src/core/target/target-state.ts'
import { targetStateWords } from '../../../src/core/words/target.ts'
import { itemsOf } from '../../api/pages.ts'
import { targetsQuery } from '../../api/targets.ts'
import { ChoiceFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { Filters, Screen } from '../../components/screen.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import type { TargetFilters } from './filters.ts'
import { TargetTable } from './target-table.tsx'

const route = getRouteApi('/targets')
/** Nodes report every two seconds; the event stream does not carry their counts. */
export const LOOK_AGAIN_MS = 3_000

export function TargetsScreen() {
  const { q, state } = route.useSearch()
  const filters = { ...(q ? { q } : {}), ...(state ? { state } : {}) }
  const query = useInfiniteQuery({
    ...targetsQuery(filters),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  })
  const targets = itemsOf(query.data)
  const nothing = <NoTargets isFiltered={Object.keys(filters).length > 0} />
  return (
    <Screen title="Targets">
      <TargetFilterBar filters={filters} />
      <Paged query={query} count={targets.length} bones={5} nothing={nothing}>
        <Panel title="By name" flush>
          <TargetTable targets={targets} />
          <More query={query}>More targets</More>
        </Panel>
      </Paged>
    </Screen>
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
    <Nothing words="No targets yet. The servers that tasks call appear here for 10 minutes after the last call, or while they have settings." />
  )
}

function TargetFilterBar({ filters }: { readonly filters: TargetFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/targets', search: { ...filters, ...change } as TargetFilters, replace: true })
  return (
    <Filters>
      <TypedFilter label="Name" value={filters.q ?? ''} onChange={(q) => choose({ q })} isMain />
      <ChoiceFilter
        label="State"
        any="Any state"
        choices={TARGET_STATES.map((value) => ({ value, label: targetStateWords(value) }))}
        value={filters.state}
        onChoose={(state) => choose({ state })}
      />
    </Filters>
  )
}

import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { ChoiceFilter, StateFilter } from '../../components/list-filters.tsx'
import { Filters } from '../../components/screen.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { STATES, type TaskFilters, TYPES } from './filters.ts'

/** The filters of the list. Their values are in the address. */
export function FilterBar({ filters }: { readonly filters: TaskFilters }) {
  const navigate = useNavigate()
  const choose = (change: Partial<Record<keyof TaskFilters, string>>) =>
    void navigate({ to: '/tasks', search: { ...filters, ...change } as TaskFilters, replace: true })
  return (
    <Filters>
      <TypedFilter label="Name or key" value={filters.q ?? ''} onChange={(q) => choose({ q })} isMain />
      <StateFilter states={STATES} value={filters.state} onChoose={(state) => choose({ state })} />
      <ChoiceFilter
        label="Action"
        any="Any action"
        choices={TYPES}
        value={filters.type}
        onChoose={(type) => choose({ type })}
      />
      <TypedFilter label="Tag" value={filters.tag ?? ''} onChange={(tag) => choose({ tag })} />
      {Object.keys(filters).length > 0 && (
        <Button variant="subtle" onClick={() => void navigate({ to: '/tasks', search: {}, replace: true })}>
          Clear
        </Button>
      )}
    </Filters>
  )
}

/** The files of a project, newest first, and the drop zone for new ones. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { filesQuery } from '../../api/files.ts'
import { itemsOf } from '../../api/pages.ts'
import { ChoiceFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { Filters, Screen } from '../../components/screen.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { FileTable } from './file-table.tsx'
import type { FileFilters } from './filters.ts'
import { Uploads } from './uploads.tsx'

const route = getRouteApi('/files')

export function FilesScreen() {
  const { name, state } = route.useSearch()
  const filters = { ...(name ? { name } : {}), ...(state ? { state } : {}) }
  const query = useInfiniteQuery({ ...filesQuery(filters), placeholderData: keepPreviousData })
  const files = itemsOf(query.data)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Screen title="Files">
      <Uploads />
      <FileFilterBar filters={filters} />
      <Paged query={query} count={files.length} bones={5} nothing={<NoFiles isFiltered={isFiltered} />}>
        <Panel title="Newest first" flush>
          <FileTable files={files} />
          <More query={query}>More files</More>
        </Panel>
      </Paged>
    </Screen>
  )
}

function NoFiles({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No files match these filters.">
      <Link to="/files" search={{}}>
        Show all files
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No files yet. Upload a script or a compiled program, then create a task that runs it." />
  )
}

function FileFilterBar({ filters }: { readonly filters: FileFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/files', search: { ...filters, ...change } as FileFilters, replace: true })
  return (
    <Filters>
      <TypedFilter
        label="Name"
        placeholder="Exact name, such as backup.sh"
        value={filters.name ?? ''}
        onChange={(name) => choose({ name })}
        isMain
      />
      <ChoiceFilter
        label="State"
        any="Any state"
        choices={[
          { value: 'ready', label: 'Ready' },
          { value: 'waiting', label: 'Not uploaded' },
        ]}
        value={filters.state}
        onChoose={(state) => choose({ state })}
      />
    </Filters>
  )
}

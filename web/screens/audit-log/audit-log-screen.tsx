/** Who changed what, latest first. */
import { Button, NativeSelect } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '../../../src/core/audit-log/audit-action.ts'
import { auditLogQuery } from '../../api/audit-log.ts'
import type { AuditEntry } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Distance } from '../../components/instant.tsx'
import { SinceFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { useFrom } from '../../components/span.ts'
import { useTitle } from '../../components/title.ts'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { useUntilFound } from '../../components/until-found.ts'
import classes from './audit-log.module.css'
import { type AuditFilters, auditFilters } from './filters.ts'
import { actorWords, Subject } from './words.tsx'

const route = getRouteApi('/audit-log')
/** No stream tells the dashboard of new entries. */
const LOOK_AGAIN_MS = 10_000

export function AuditLogScreen() {
  useTitle('Audit log')
  const filters = auditFilters(route.useSearch())
  const { scope, action, kind: subjectKind, subject, actor, since } = filters
  const query = useInfiniteQuery({
    ...auditLogQuery({ scope, action, subjectKind, subject, actor, from: useFrom(since) }),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  })
  const entries = query.data?.pages.flatMap(({ items }) => items) ?? []
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const isSearching = useUntilFound(query, entries.length)
  return (
    <div className={classes.screen}>
      <h1>Audit log</h1>
      <Filters filters={filters} />
      {isSearching && <Bones count={8} />}
      {query.isError && !query.data && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {!isSearching && !query.isError && entries.length === 0 && (
        <NoEntries isFiltered={Object.keys(filters).length > 0} />
      )}
      {entries.length > 0 && (
        <Panel title="Latest first" flush>
          <EntryTable entries={entries} scope={scope} />
          {hasNextPage && (
            <div className={classes.more}>
              <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                Earlier changes
              </Button>
            </div>
          )}
        </Panel>
      )}
    </div>
  )
}

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No changes match these filters.">
      <Link to="/audit-log" search={{}}>
        Show all changes
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No changes yet. Every change is listed here, with who made it." />
  )
}

interface EntryTableProps {
  readonly entries: readonly AuditEntry[]
  readonly scope: AuditFilters['scope']
}

function EntryTable({ entries, scope }: EntryTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Changes">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Change</th>
            <th scope="col">What</th>
            <th scope="col">Who</th>
            <th scope="col">Address</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <EntryRow key={entry.id} entry={entry} scope={scope} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function EntryRow({ entry, scope }: { readonly entry: AuditEntry; readonly scope: AuditFilters['scope'] }) {
  return (
    <tr>
      <td>
        <Distance at={entry.at} />
      </td>
      <th scope="row">
        <Link to="/audit-log/$entryId" params={{ entryId: entry.id }} search={scope ? { scope } : {}}>
          {entry.action}
        </Link>
        {entry.count > 1 && ` ×${entry.count}`}
      </th>
      <td data-label="what" className={classes.wide}>
        <Subject subject={entry.subject} />
      </td>
      <td data-label="by" className={classes.wide}>
        {actorWords(entry)}
      </td>
      <td data-label="from">{entry.address ?? '–'}</td>
      <td data-label="because" className={classes.wide}>
        {entry.reason ?? '–'}
      </td>
    </tr>
  )
}

const SCOPE_WORDS = { '': 'This project', installation: 'Installation', all: 'Everything' } as const

function Filters({ filters }: { readonly filters: AuditFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/audit-log', search: { ...filters, ...change } as AuditFilters, replace: true })
  return (
    <search className={classes.filters}>
      <NativeSelect
        aria-label="Change"
        value={filters.action ?? ''}
        onChange={(event) => choose({ action: event.currentTarget.value })}
        data={[{ value: '', label: 'Any change' }, ...AUDIT_ACTIONS]}
      />
      <NativeSelect
        aria-label="Kind"
        value={filters.kind ?? ''}
        onChange={(event) => choose({ kind: event.currentTarget.value })}
        data={[
          { value: '', label: 'Of anything' },
          ...AUDIT_SUBJECTS.map((kind) => ({ value: kind, label: kind.replaceAll('_', ' ') })),
        ]}
      />
      <SinceFilter value={filters.since} onChoose={(since) => choose({ since })} />
      <TypedFilter
        label="ID of task, queue, key …"
        value={filters.subject ?? ''}
        onChange={(subject) => choose({ subject })}
        isMain
      />
      <TypedFilter
        label="ID or address of who"
        value={filters.actor ?? ''}
        onChange={(actor) => choose({ actor })}
      />
      <NativeSelect
        aria-label="Scope"
        value={filters.scope ?? ''}
        onChange={(event) => choose({ scope: event.currentTarget.value })}
        data={Object.entries(SCOPE_WORDS).map(([value, label]) => ({ value, label }))}
      />
    </search>
  )
}

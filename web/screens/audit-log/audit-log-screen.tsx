/** The audit log: who changed what, latest first. */
import { NativeSelect } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '../../../src/core/audit-log/audit-action.ts'
import { auditLogQuery } from '../../api/audit-log.ts'
import { itemsOf } from '../../api/pages.ts'
import type { AuditEntry } from '../../api/wire.ts'
import { Distance } from '../../components/instant.tsx'
import { InstantFilter } from '../../components/instant-filter.tsx'
import { ChoiceFilter, SinceFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { FilterRange, Filters, Screen } from '../../components/screen.tsx'
import { BETWEEN, useFrom } from '../../components/span.ts'
import { Table } from '../../components/table.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { type AuditFilters, auditFilters } from './filters.ts'
import { actorWords, Subject } from './words.tsx'

const route = getRouteApi('/audit-log')
/** The event stream does not carry audit log entries, so the list is polled. */
const LOOK_AGAIN_MS = 10_000

export function AuditLogScreen() {
  const filters = auditFilters(route.useSearch())
  const { scope, action, kind: subjectKind, subject, actor, since, to } = filters
  const from = useFrom(since === BETWEEN ? undefined : since) ?? filters.from
  const query = useInfiniteQuery({
    ...auditLogQuery({ scope, action, subjectKind, subject, actor, from, to }),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  })
  const entries = itemsOf(query.data)
  const nothing = <NoEntries isFiltered={Object.keys(filters).length > 0} />
  return (
    <Screen title="Audit log">
      <AuditFilterBar filters={filters} />
      <Paged query={query} count={entries.length} bones={8} nothing={nothing}>
        <Panel title="Latest first" flush>
          <EntryTable entries={entries} scope={scope} />
          <More query={query}>Earlier changes</More>
        </Panel>
      </Paged>
    </Screen>
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

const COLUMNS = ['When', 'Change', 'What', 'Who', 'Address', 'Reason'] as const

function EntryTable({ entries, scope }: EntryTableProps) {
  return (
    <Table label="Changes" columns={COLUMNS}>
      {entries.map((entry) => (
        <EntryRow key={entry.id} entry={entry} scope={scope} />
      ))}
    </Table>
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
      <td data-label="what" data-wide>
        <Subject subject={entry.subject} />
      </td>
      <td data-label="by" data-wide>
        {actorWords(entry)}
      </td>
      <td data-label="from">{entry.address ?? '–'}</td>
      <td data-label="because" data-wide>
        {entry.reason ?? '–'}
      </td>
    </tr>
  )
}

const SCOPE_WORDS = { '': 'This project', installation: 'Installation', all: 'Everything' } as const

function AuditFilterBar({ filters }: { readonly filters: AuditFilters }) {
  const navigate = useNavigate()
  const choose = (change: Record<string, string>) =>
    void navigate({ to: '/audit-log', search: { ...filters, ...change } as AuditFilters, replace: true })
  return (
    <Filters>
      <ChoiceFilter
        label="Change"
        any="Any change"
        choices={AUDIT_ACTIONS}
        value={filters.action}
        onChoose={(action) => choose({ action })}
      />
      <ChoiceFilter
        label="Kind"
        any="Any kind"
        choices={AUDIT_SUBJECTS.map((kind) => ({ value: kind, label: kind.replaceAll('_', ' ') }))}
        value={filters.kind}
        onChoose={(kind) => choose({ kind })}
      />
      <SinceFilter
        value={filters.since}
        onChoose={(since) => choose({ since, from: '', to: '' })}
        withBetween
      />
      <TypedFilter
        label="ID of task, queue, key …"
        value={filters.subject ?? ''}
        onChange={(subject) => choose({ subject })}
        isMain
      />
      <TypedFilter
        label="ID or address of the actor"
        value={filters.actor ?? ''}
        onChange={(actor) => choose({ actor })}
      />
      <NativeSelect
        aria-label="Scope"
        value={filters.scope ?? ''}
        onChange={(event) => choose({ scope: event.currentTarget.value })}
        data={Object.entries(SCOPE_WORDS).map(([value, label]) => ({ value, label }))}
      />
      {filters.since === BETWEEN && (
        <FilterRange>
          <InstantFilter label="From" value={filters.from ?? ''} onChange={(from) => choose({ from })} />
          <InstantFilter label="To, exclusive" value={filters.to ?? ''} onChange={(to) => choose({ to })} />
        </FilterRange>
      )}
    </Filters>
  )
}

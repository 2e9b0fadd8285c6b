/** One entry of the audit log: who made the change, from where and why, and the state before and after. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { auditEntryQuery } from '../../api/audit-log.ts'
import { isNotThere } from '../../api/client.ts'
import type { AuditEntryWithChanges } from '../../api/wire.ts'
import { ChangeList } from '../../components/change-list.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Failure } from '../../components/failure.tsx'
import { Instant } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { actorWords, Subject } from './words.tsx'

const route = getRouteApi('/audit-log/$entryId')

export function AuditEntryScreen() {
  const { entryId } = route.useParams()
  const { scope } = route.useSearch()
  const { data: entry, error, refetch } = useQuery(auditEntryQuery(entryId, scope))
  if (error && !entry)
    return isNotThere(error) ? (
      <Nothing words="This entry does not exist, or is no longer kept.">
        <Link to="/audit-log">Audit log</Link>
      </Nothing>
    ) : (
      <Failure error={error} onRetry={() => void refetch()} />
    )
  if (!entry) return <Bones count={4} />
  return (
    <Screen title={entry.action} aside={<Link to="/audit-log">Audit log</Link>}>
      <EntryFacts entry={entry} />
      {entry.changes.length > 0 && (
        <Panel title="Before and after">
          <ChangeList changes={entry.changes} label="Before and after" />
        </Panel>
      )}
    </Screen>
  )
}

function EntryFacts({ entry }: { readonly entry: AuditEntryWithChanges }) {
  const { subject, actor, project } = entry
  return (
    <Facts>
      <Fact label="What" isWide>
        <Subject subject={subject} />
        {subject.id !== null && (
          <>
            {' · '}
            <Link to="/audit-log" search={{ subject: subject.id }}>
              All its changes
            </Link>
          </>
        )}
      </Fact>
      <Fact label="Who" isWide>
        {actorWords(entry)}
        {actor.id !== null && (
          <>
            {' · '}
            <Link to="/audit-log" search={{ actor: actor.id }}>
              All their changes
            </Link>
          </>
        )}
      </Fact>
      <Fact label="When">
        <Instant at={entry.at} precision="second" />
      </Fact>
      <Fact label="Address">{entry.address ?? '–'}</Fact>
      <Fact label="Project">{project === null ? '–' : (project.name ?? project.id)}</Fact>
      {entry.count > 1 && <Fact label="Requests">{entry.count}</Fact>}
      <Fact label="Reason" isWide>
        {entry.reason ?? '–'}
      </Fact>
      <Fact label="Request" isWide>
        <code>{entry.requestId ?? '–'}</code>
      </Fact>
    </Facts>
  )
}

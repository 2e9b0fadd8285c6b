/** Describes the actor and the subject of an entry. */
import { Link } from '@tanstack/react-router'
import type { AuditEntry } from '../../api/wire.ts'

export function actorWords({ actor }: Pick<AuditEntry, 'actor'>): string {
  const who = actor.name ?? actor.id ?? 'unknown'
  return actor.kind === 'anonymous' ? who : `${actor.kind} ${who}`
}

/** Links to what was changed, if it has a page. */
export function Subject({ subject: { kind, id, name } }: Pick<AuditEntry, 'subject'>) {
  const words = name ?? id ?? ''
  const label = kind.replaceAll('_', ' ')
  return (
    <>
      {label} {id === null ? words : <SubjectLink kind={kind} id={id} words={words} />}
    </>
  )
}

interface SubjectLinkProps {
  readonly kind: AuditEntry['subject']['kind']
  readonly id: string
  readonly words: string
}

function SubjectLink({ kind, id, words }: SubjectLinkProps) {
  if (kind === 'task')
    return (
      <Link to="/tasks/$taskId" params={{ taskId: id }}>
        {words}
      </Link>
    )
  if (kind === 'run')
    return (
      <Link to="/runs/$runId" params={{ runId: id }}>
        {words}
      </Link>
    )
  if (kind === 'target')
    return (
      <Link to="/targets/$target" params={{ target: id }}>
        {words}
      </Link>
    )
  if (kind === 'queue')
    return (
      <Link to="/queues/$queue" params={{ queue: id }}>
        {words}
      </Link>
    )
  return words
}

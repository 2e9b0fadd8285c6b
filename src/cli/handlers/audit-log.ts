import type { AuditEntry, AuditEntryWithChanges } from '../../api/resources/audit-log/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatClock, formatDistance } from '../../core/words/time.ts'
import { changeLines } from '../client/change-lines.ts'
import { follow } from '../client/event-stream.ts'
import { findTask } from '../client/find-task.ts'
import { instantAgo } from '../client/instant-flag.ts'
import { type ClientFlags, give, remark, serverFrom, write } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { machineZone } from '../client/schedule-flags.ts'
import { queryOf, type Server } from '../client/server.ts'
import { onLost, tellAside } from './events.ts'

const PATH = '/v1/audit-log'
const NAME_WIDTH = 40

/** Filters for entries: all given filters must match. */
export interface AuditFlags extends ClientFlags {
  readonly task?: string
  readonly subject?: string
  readonly subjectKind?: string
  readonly action?: string
  readonly actor?: string
  readonly since?: string
  readonly from?: string
  readonly to?: string
  readonly scope?: string
  readonly limit: string
}

export async function listAuditLog(flags: AuditFlags): Promise<void> {
  const server = serverFrom(flags)
  const filter = await filterOf(server, flags)
  const listed = await namingAll('belfry audit-log list --help', () =>
    readPages<AuditEntry>(server, PATH, filter, readLimit(flags.limit)),
  )
  if (listed.items.length === 0 && !flags.json) return remark(`No changes found${elsewhere(flags)}.\n`)
  give(listed.items, flags, () => entryTable(listed.items, server.now()))
  remarkMore(listed)
}

/** Some changes, such as creating a project or a key of the installation, belong to no project. */
const elsewhere = ({ scope }: AuditFlags): string =>
  scope === undefined ? ' in this project. To include changes outside it: --scope all' : ''

/** Prints entries as they are recorded, until interrupted. */
export async function followAuditLog(flags: AuditFlags): Promise<void> {
  const server = serverFrom(flags)
  const { action, scope, from, subject, subjectKind, actor } = await filterOf(server, flags)
  const path = `/v1/events${queryOf({ events: 'audit-log', action, scope, after: from })}`
  const isMeant = (entry: AuditEntry) =>
    (subject === undefined || entry.subject.id === subject) &&
    (subjectKind === undefined || entry.subject.kind === subjectKind) &&
    (actor === undefined || entry.actor.id === actor)
  for await (const event of follow(server, path, { onLost })) {
    if (!event.event.startsWith('belfry.audit.')) {
      tellAside(event)
      continue
    }
    const { entry } = (JSON.parse(event.data) as { data: { entry: AuditEntry } }).data
    if (!isMeant(entry)) continue
    if (flags.json) write(`${JSON.stringify(entry)}\n`)
    else give(entry, flags, () => entryLine(entry))
  }
}

function entryLine(entry: AuditEntry): string {
  const words = [
    formatClock(Date.parse(entry.at), machineZone()),
    entry.action,
    subjectWords(entry),
    actorWords(entry),
    ...(entry.reason === null ? [] : [`“${printable(entry.reason)}”`]),
    entry.id,
  ]
  return `${words.join('  ')}\n`
}

async function filterOf(server: Server, flags: AuditFlags) {
  const { task, subjectKind, action, actor, since, to, scope } = flags
  const subject = task === undefined ? flags.subject : (await findTask(server, task)).id
  const from = since === undefined ? flags.from : instantAgo(since, server)
  return { subject, subjectKind, action, actor, from, to, scope }
}

function entryTable(items: readonly AuditEntry[], now: number): string {
  return table(
    ['WHEN', 'WHO', 'ACTION', 'WHAT', 'REASON', 'ID'],
    items.map((entry) => [
      formatDistance(Date.parse(entry.at), now),
      cut(actorWords(entry), NAME_WIDTH),
      entry.count > 1 ? `${entry.action} ×${entry.count}` : entry.action,
      cut(subjectWords(entry), NAME_WIDTH),
      cut(printable(entry.reason ?? '–'), NAME_WIDTH),
      entry.id,
    ]),
  )
}

const actorWords = ({ actor }: AuditEntry): string => {
  const who = printable(actor.name ?? actor.id ?? '')
  return actor.kind === 'anonymous' ? who || 'unknown' : `${actor.kind} ${who}`
}

const subjectWords = ({ subject: { kind, id, name } }: AuditEntry): string =>
  `${kind.replaceAll('_', ' ')} ${printable(name ?? id ?? '')}`.trimEnd()

export async function showAuditEntry(
  id: string,
  flags: ClientFlags & { readonly scope?: string },
): Promise<void> {
  const server = serverFrom(flags)
  const path = `${PATH}/${encodeURIComponent(id)}${queryOf({ scope: flags.scope })}`
  const entry = await namingAll('belfry audit-log show --help', () => server.get<AuditEntryWithChanges>(path))
  give(entry, flags, () => entryText(entry))
}

function entryText(entry: AuditEntryWithChanges): string {
  const { action, at, address, requestId, project, subject, count, reason, changes } = entry
  const head = facts([
    ['action', action],
    ['what', subjectWords(entry)],
    ...(subject.name === null || subject.id === null ? [] : [['id', printable(subject.id)] as const]),
    ['who', actorWords(entry)],
    ['when', at],
    ['address', address ?? '–'],
    ['project', printable(project?.name ?? project?.id ?? '–')],
    ['request', requestId ?? '–'],
    ...(count > 1 ? [['count', String(count)] as const] : []),
    ['reason', printable(reason ?? '–')],
  ])
  return changes.length === 0 ? head : `${head}\n${changeLines(changes).join('\n')}\n`
}

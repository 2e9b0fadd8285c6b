import type { Project } from '../../api/resources/projects/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { usage } from '../client/flag-values.ts'
import { type LimitFlags, limitFacts, limitsFrom } from '../client/limit-flags.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { facts, table } from '../client/printed.ts'
import { flagOfField, naming } from '../client/refusal.ts'
import { type RetentionFlags, retentionFacts } from '../client/retention-flags.ts'
import type { Server } from '../client/server.ts'
import { onStdout as c } from '../terminal.ts'

const PATH = '/v1/projects'

/** Flags for the settings of a project; an empty value removes a setting. */
export interface SettingFlags extends ClientFlags, LimitFlags, RetentionFlags {
  readonly mailFrom?: string
  readonly mailReplyTo?: string
  readonly mailServer?: string
  readonly privateNetworks?: string
}

export async function createProject(name: string, flags: SettingFlags): Promise<void> {
  const server = serverFrom(flags)
  const made = await ask('create', () => server.post<Project>(PATH, { name, ...settingsOf(flags) }))
  give(made, flags, () => `${c.green('✓')} created ${projectText(made)}`)
}

export async function listProjects(
  flags: ClientFlags & { readonly search?: string; readonly archived?: boolean; readonly limit: string },
): Promise<void> {
  const server = serverFrom(flags)
  const filter = { q: flags.search, archived: flags.archived ? 'true' : undefined }
  const listed = await readPages<Project>(server, PATH, filter, readLimit(flags.limit))
  if (listed.items.length === 0 && !flags.json) return remark('No projects match.\n')
  give(listed.items, flags, () => projectTable(listed.items, server.now()))
  remarkMore(listed)
}

export async function showProject(name: string | undefined, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const project = await server.get<Project>(pathOf(await theName(name, flags, server)))
  give(project, flags, () => projectText(project))
}

export async function editProject(name: string | undefined, flags: SettingFlags): Promise<void> {
  const body = settingsOf(flags)
  if (Object.keys(body).length === 0)
    throw usage(
      'No setting was given.',
      'Add a limit, such as --request-rate 100/s, or --keep-history, --mail-from or --private-networks.',
    )
  const server = serverFrom(flags)
  const path = pathOf(await theName(name, flags, server))
  const { data: project } = await ask('edit', () => server.ask<Project>('PATCH', path, { body }))
  give(project, flags, () => `${c.green('✓')} ${projectText(project)}`)
}

export async function archiveProject(
  name: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const shown = printable(name)
  await confirm(`Archive project ${shown}? Its tasks are paused and its runs cancelled.`, flags)
  const { data: project } = await server.ask<Project>('DELETE', pathOf(name))
  const undo = `belfry project restore ${shown}`
  give(project, flags, () => `${c.green('✓')} project ${shown} archived; to restore it: ${undo}\n`)
}

export async function restoreProject(name: string, flags: ClientFlags): Promise<void> {
  const project = await serverFrom(flags).post<Project>(`${pathOf(name)}/restore`)
  give(project, flags, () => `${c.green('✓')} project ${printable(project.name)} restored\n`)
}

const pathOf = (name: string) => `${PATH}/${encodeURIComponent(name)}`

/** Returns the project to use if no name is given: the one that other commands use. */
async function theName(name: string | undefined, { project }: ClientFlags, server: Server): Promise<string> {
  const given = name ?? project ?? process.env['BELFRY_PROJECT']
  if (given !== undefined) return given
  const { items } = await readPages<Project>(server, PATH, {}, 2)
  return items.length === 1 ? (items[0] as Project).name : 'default'
}

function settingsOf(all: SettingFlags) {
  const { mailFrom, mailReplyTo, mailServer, privateNetworks, keepHistory, keepAuditLog, ...flags } = all
  const limits = limitsFrom(flags)
  const mail = given({ from: mailFrom, replyTo: mailReplyTo, server: mailServer })
  const network =
    privateNetworks === undefined ? null : { allowedPrivate: networksOf(privateNetworks.trim()) }
  const retention = given({ history: keepHistory, auditLog: keepAuditLog })
  return {
    ...(limits ? { limits } : {}),
    ...(mail ? { mail } : {}),
    ...(network ? { network } : {}),
    ...(retention ? { retention } : {}),
  }
}

/** Parses a list of networks. `all` returns null, so that the setting of the installation applies. */
function networksOf(text: string): string[] | null {
  if (text === 'all' || text === '') return null
  return text === 'none' ? [] : text.split(',').map((network) => network.trim())
}

/** Returns the values that were given, with empty values as null; null if none were given. */
function given(values: Readonly<Record<string, string | undefined>>) {
  const typed = Object.entries(values).filter(([, value]) => value !== undefined)
  if (typed.length === 0) return null
  return Object.fromEntries(typed.map(([name, value]) => [name, value === '' ? null : value]))
}

const FLAGS: Readonly<Record<string, string>> = {
  '/name': 'the name',
  '/mail/from': '--mail-from',
  '/mail/replyTo': '--mail-reply-to',
  '/mail/server': '--mail-server',
  '/retention/history': '--keep-history',
  '/retention/auditLog': '--keep-audit-log',
}

const ask = <T>(command: string, work: () => Promise<T>): Promise<T> =>
  naming(
    (pointer) =>
      FLAGS[pointer] ?? (pointer.startsWith('/network') ? '--private-networks' : flagOfField(pointer)),
    `belfry project ${command} --help`,
    work,
  )

function projectTable(items: readonly Project[], now: number): string {
  return table(
    ['NAME', 'MIN PERIOD', 'MAX AHEAD', 'CREATED'],
    items.map(({ name, limits, createdAt }) => [
      printable(name),
      limits.minPeriod,
      limits.maxAhead ?? '–',
      formatDistance(Date.parse(createdAt), now),
    ]),
  )
}

function projectText({ name, limits, use, mail, network, retention, archivedAt }: Project): string {
  const used = {
    maxTasks: use?.tasks,
    maxStoredBytes: use?.storedBytes,
    requestRate: use?.requests,
    maxRunning: use?.running,
  }
  const networks = network?.allowedPrivate ?? null
  return `project ${printable(name)}${archivedAt === null ? '' : ' (archived)'}\n${facts([
    ...limitFacts(limits, used),
    ...(mail.from === null ? [] : [['mail from', printable(mail.from)] as const]),
    ...(mail.replyTo === null ? [] : [['reply to', printable(mail.replyTo)] as const]),
    ...(mail.server === null ? [] : [['mail server', printable(mail.server)] as const]),
    ...(networks === null ? [] : [['networks', printable(networks.join(', ') || 'none')] as const]),
    ...retentionFacts(retention),
  ])}`
}

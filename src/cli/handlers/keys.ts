import type { ApiKey, NewApiKey } from '../../api/resources/keys/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { findByName } from '../client/find-by-name.ts'
import { usage } from '../client/flag-values.ts'
import { type LimitFlags, limitFacts, limitsFrom } from '../client/limit-flags.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import type { Server } from '../client/server.ts'
import { onStdout as c } from '../terminal.ts'

const PATH = '/v1/keys'
const NAME_WIDTH = 40
/** Maximum number of keys that are searched for a name. */
const MAX_SEARCHED = 10_000

export async function listKeys(flags: ClientFlags & { readonly limit: string }): Promise<void> {
  const server = serverFrom(flags)
  const listed = await readPages<ApiKey>(server, PATH, {}, readLimit(flags.limit))
  if (listed.items.length === 0 && !flags.json)
    return remark('There are no API keys.\ntry:   belfry key create --role admin\n')
  give(listed.items, flags, () => keyTable(listed.items, server.now()))
  remarkMore(listed)
}

export async function showKey(ref: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const key = await findKey(server, ref)
  give(key, flags, () => keyText(key, server.now()))
}

export async function limitKey(ref: string, flags: ClientFlags & LimitFlags): Promise<void> {
  const limits = limitsFrom(flags)
  if (!limits) throw usage('No limit was given.', 'Add one, such as --request-rate 10/s.')
  const server = serverFrom(flags)
  const { id } = await findKey(server, ref)
  const { data: key } = await namingAll('belfry key limit --help', () =>
    server.ask<ApiKey>('PATCH', `${PATH}/${id}`, { body: { limits } }),
  )
  give(key, flags, () => `${c.green('✓')} ${keyText(key, server.now())}`)
}

export async function rotateKey(
  ref: string,
  flags: ClientFlags & { readonly overlap?: string; readonly expiresAt?: string },
): Promise<void> {
  const server = serverFrom(flags)
  const { id, name } = await findKey(server, ref)
  const { overlap, expiresAt } = flags
  const made = await namingAll('belfry key rotate --help', () =>
    server.post<NewApiKey>(`${PATH}/${id}/rotate`, { overlap, expiresAt }),
  )
  give(made, flags, () =>
    newKeyText(made, `API key ${printable(name)} rotated; the old one stays valid for ${overlap ?? '1d'}`),
  )
}

export async function revokeKey(ref: string, flags: ClientFlags & { readonly yes?: boolean }): Promise<void> {
  const server = serverFrom(flags)
  const key = await findKey(server, ref)
  const name = `${printable(key.name)} (${key.hint}…)`
  await confirm(`Revoke the API key ${name}? Programs that use it will be refused.`, flags)
  await server.ask('DELETE', `${PATH}/${key.id}`)
  give(key, flags, () => `${c.green('✓')} API key ${name} revoked\n`)
}

/** Finds the key with this id or name. If several have the name, the one that is still valid is preferred. */
async function findKey(server: Server, ref: string): Promise<ApiKey> {
  const { items } = await readPages<ApiKey>(server, PATH, {}, MAX_SEARCHED)
  const active = items.filter(({ state, rotatedTo }) => state === 'active' && rotatedTo === null)
  const named = active.filter(({ name }) => name === ref)
  return findByName('key', ref, named.length > 0 ? named : items, ({ createdAt }) => `created ${createdAt}`)
}

/** Formats a new key, which is shown only once. */
export function newKeyText({ id, key }: Pick<NewApiKey, 'id' | 'key'>, words: string): string {
  return `${c.green('✓')} ${words}\n${facts([
    ['id', id],
    ['key', `${key}  ${c.dim('shown only once')}`],
  ])}`
}

function keyTable(items: readonly ApiKey[], now: number): string {
  return table(
    ['ID', 'NAME', 'ROLE', 'PROJECT', 'KEY', 'STATE', 'LAST USED', 'EXPIRES'],
    items.map((key) => [
      key.id,
      cut(printable(key.name), NAME_WIDTH),
      key.role,
      key.project ?? 'all',
      `${key.hint}…`,
      key.state === 'active' ? key.state : c.dim(key.state),
      distance(key.lastUsedAt, now),
      distance(key.expiresAt, now),
    ]),
  )
}

function keyText(key: ApiKey, now: number): string {
  const { id, name, role, project, hint, state, queues, networks, createdBy } = key
  return `API key ${printable(name)}\n${facts([
    ['id', id],
    ['key', `${hint}…`],
    ['role', role],
    ['project', project ?? 'all'],
    ['state', key.rotatedTo === null ? state : `${state}, rotated to ${key.rotatedTo}`],
    ['queues', queues?.map(printable).join(', ') ?? 'all'],
    ['networks', networks?.join(', ') ?? 'all'],
    ...limitFacts(key.limits ?? {}),
    ['created', `${distance(key.createdAt, now)}${createdBy === null ? '' : ` by ${printable(createdBy)}`}`],
    ['last used', distance(key.lastUsedAt, now)],
    ['expires', distance(key.expiresAt, now)],
  ])}`
}

const distance = (at: string | null, now: number) => (at === null ? '–' : formatDistance(Date.parse(at), now))

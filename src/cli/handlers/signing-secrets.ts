import type { NewSigningSecret, SigningSecret } from '../../api/resources/signing-secrets/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { findByName } from '../client/find-by-name.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { cut, facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { queryOf } from '../client/server.ts'
import { onStdout as c } from '../terminal.ts'

const PATH = '/v1/signing-secrets'
const ORIGIN_WIDTH = 60
/** What happens once the last secret of its kind is revoked. */
const RESTS = {
  project: 'Requests to origins without their own secrets will not be signed.',
  origin: 'The secrets of the project will sign requests to its origin.',
}

/** The origin that the secret is for; without one, all origins that do not have their own secret. */
interface OriginFlags extends ClientFlags {
  readonly origin?: string
}

interface List {
  readonly items: readonly SigningSecret[]
}

export async function listSigningSecrets(flags: OriginFlags): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await namingAll('belfry signing-secret list --help', () =>
    server.get<List>(PATH + queryOf({ origin: flags.origin })),
  )
  if (items.length === 0 && !flags.json)
    return remark(
      flags.origin === undefined
        ? 'There are no signing secrets; requests are not signed.\ntry:   belfry signing-secret create\n'
        : `${printable(flags.origin)} does not have its own secrets.\n`,
    )
  give(items, flags, () => secretTable(items, server.now()))
}

export async function createSigningSecret(flags: OriginFlags): Promise<void> {
  const { origin } = flags
  const made = await namingAll('belfry signing-secret create --help', () =>
    serverFrom(flags).post<NewSigningSecret>(PATH, { origin }),
  )
  giveNew(made, 'now signed with a new secret', flags)
}

export async function rotateSigningSecret(
  flags: OriginFlags & { readonly keepOldFor?: string },
): Promise<void> {
  const { origin, keepOldFor } = flags
  const made = await namingAll('belfry signing-secret rotate --help', () =>
    serverFrom(flags).post<NewSigningSecret>(`${PATH}/rotate`, { origin, keepOldFor }),
  )
  giveNew(made, 'now signed with a new secret, and with the old one until it expires', flags)
}

function giveNew(made: NewSigningSecret, words: string, flags: ClientFlags): void {
  give(made, flags, () => {
    const shown = c.dim('shown only once: give it to the receivers')
    const where = made.origin === null ? '' : ` to ${printable(made.origin)}`
    return `${c.green('✓')} requests${where} are ${words}\n${facts([
      ['id', made.id],
      ['secret', `${made.secret}  ${shown}`],
    ])}`
  })
}

export async function revokeSigningSecret(
  ref: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await server.get<List>(PATH)
  const secret = findByName('signing-secret', ref, items, ({ createdAt }) => `created ${createdAt}`)
  const { id } = secret
  const others = items.filter(({ origin }) => origin === secret.origin).length - 1
  const rest =
    others > 0 ? 'The other secret will sign requests.' : RESTS[secret.origin === null ? 'project' : 'origin']
  await confirm(`Revoke the signing secret ${id}? ${rest}`, flags)
  await server.ask('DELETE', `${PATH}/${id}`)
  give(secret, flags, () => `${c.green('✓')} signing secret ${id} revoked\n`)
}

function secretTable(items: readonly SigningSecret[], now: number): string {
  return table(
    ['ID', 'FOR', 'CREATED', 'EXPIRES'],
    items.map(({ id, origin, createdAt, expiresAt }) => [
      id,
      origin === null ? 'all others' : cut(printable(origin), ORIGIN_WIDTH),
      formatDistance(Date.parse(createdAt), now),
      expiresAt === null ? '–' : c.yellow(formatDistance(Date.parse(expiresAt), now)),
    ]),
  )
}

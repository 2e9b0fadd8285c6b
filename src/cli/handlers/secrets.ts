import type { Secret, SecretInUse } from '../../api/resources/secrets/schemas.ts'
import { referenceTo } from '../../core/secret/secret-reference.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { readText } from '../client/file-flag.ts'
import { askHidden } from '../client/hidden-prompt.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readPages } from '../client/pages.ts'
import { facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const PATH = '/v1/secrets'
/** Maximum number of secrets in a project. */
const MOST_SECRETS = 1_000
const at = (name: string) => `${PATH}/${encodeURIComponent(name)}`

export async function setSecret(
  name: string,
  flags: ClientFlags & { readonly file?: string },
): Promise<void> {
  const value = (await valueFrom(name, flags.file)).replace(/\r?\n$/, '')
  const { data: secret } = await namingAll('belfry secret set --help', () =>
    serverFrom(flags).ask<Secret>('PUT', at(name), { body: { value } }),
  )
  give(secret, flags, () => {
    const done = secret.version === 1 ? 'created' : `is now at version ${secret.version}`
    return `${c.green('✓')} secret ${secret.name} ${done}\nTasks use it as ${referenceTo(secret.name)}\n`
  })
}

async function valueFrom(name: string, file: string | undefined): Promise<string> {
  if (file !== undefined || process.stdin.isTTY !== true) return readText(file ?? '-')
  const typed = await askHidden(`Value of ${printable(name)} (not shown): `)
  if (typed !== undefined) return typed
  throw new CliError('Cancelled; nothing was changed.', 'Type a value and press Enter.', EXIT.interrupted)
}

export async function listSecrets(flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await readPages<Secret>(server, PATH, {}, MOST_SECRETS)
  if (items.length === 0 && !flags.json)
    return remark('There are no secrets.\ntry:   belfry secret set API_TOKEN\n')
  const now = server.now()
  give(items, flags, () =>
    table(
      ['NAME', 'VERSION', 'UPDATED', 'CREATED'],
      items.map(({ name, version, updatedAt, createdAt }) => [
        name,
        String(version),
        formatDistance(Date.parse(updatedAt), now),
        formatDistance(Date.parse(createdAt), now),
      ]),
    ),
  )
}

export async function showSecret(name: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const secret = await server.get<SecretInUse>(at(name))
  const now = server.now()
  give(secret, flags, () => {
    const users = secret.usedBy.map((task) => `${task.id}  ${printable(task.name ?? task.key ?? '')}`)
    const more = secret.hasMoreUsers ? ['and possibly others'] : []
    const mail = secret.isInMail ? ['mail settings of the project'] : []
    return facts([
      ['name', secret.name],
      ['version', String(secret.version)],
      ['updated', formatDistance(Date.parse(secret.updatedAt), now)],
      ['created', formatDistance(Date.parse(secret.createdAt), now)],
      ['used by', [...mail, ...users, ...more].join('\n') || 'nothing'],
    ])
  })
}

export async function deleteSecret(
  name: string,
  flags: ClientFlags & { readonly force?: boolean; readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const secret = await server.get<SecretInUse>(at(name))
  await confirm(`Delete the secret ${printable(name)}? Its value cannot be restored.`, flags)
  await server.ask('DELETE', `${at(name)}${flags.force ? '?force=true' : ''}`)
  give(secret, flags, () => `${c.green('✓')} secret ${printable(name)} deleted\n`)
}

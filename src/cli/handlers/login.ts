/** `belfry login`, `logout` and `whoami`. */
import type { Me } from '../../api/resources/me/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { refuseMisnamed } from '../client/connection.ts'
import { askHidden, readStdin } from '../client/hidden-input.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { facts } from '../client/printed.ts'
import { RefusedError } from '../client/problem.ts'
import {
  DEFAULT_PROFILE,
  profileName,
  profilesFile,
  readProfiles,
  writeProfiles,
} from '../client/profiles.ts'
import { authorityFrom, keyFrom, Server, serverUrl } from '../client/server.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const LOOPBACK_URL = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$)/

export async function login(flags: ClientFlags & { readonly keyStdin?: boolean }): Promise<void> {
  const { env } = process
  const name = profileName(flags.profile, env) ?? DEFAULT_PROFILE
  const profiles = readProfiles()
  const known = flags.profile === undefined ? undefined : profiles.get(name)?.server
  const chosen = flags.server ?? known
  // A key that is asked for goes to this server. Variables for keys decide nothing here.
  refuseMisnamed(env, { server: chosen !== undefined, key: true })
  const url = serverUrl(chosen, env)
  if (url.startsWith('http:') && !LOOPBACK_URL.test(url))
    remark(
      `! The connection to ${url} is not encrypted: others on the network can read the key. Use https.\n`,
    )
  const given = flags.apiKey ?? (flags.keyStdin ? await readStdin() : await askHidden(`API key for ${url}: `))
  const key = keyFrom(given, {})
  if (key === null)
    throw new CliError('No key was given.', 'To create one: belfry key create --role admin', EXIT.usage)
  const me = await knownTo(new Server(url, { key, ca: authorityFrom(flags.caFile, env) }))
  writeProfiles(new Map([...profiles, [name, { server: url, key }]]))
  give(
    { profile: name, server: url, ...me },
    flags,
    () =>
      `${c.green('✓')} logged in to ${url} as ${whoWords(me)}\n${facts([
        ['profile', name],
        ['stored in', profilesFile()],
      ])}`,
  )
}

async function knownTo(server: Server): Promise<Me> {
  try {
    const me = await server.get<Me>('/v1/me')
    if (me.kind !== 'anonymous') return me
  } catch (error) {
    if (!(error instanceof RefusedError) || error.problem.status !== 401) throw error
    throw new RefusedError(error.problem, { hint: 'Check the key and the address. Nothing was stored.' })
  }
  throw new CliError(
    `${server.url} has no API keys yet, so it needs no login.`,
    'To create the first key: belfry key create --role admin',
    EXIT.conflict,
  )
}

export function logout(flags: ClientFlags): void {
  const name = profileName(flags.profile, process.env) ?? DEFAULT_PROFILE
  const profiles = new Map(readProfiles())
  const profile = profiles.get(name)
  if (!profile)
    throw new CliError(`The profile '${name}' does not exist.`, 'Nothing was changed.', EXIT.notFound)
  profiles.delete(name)
  writeProfiles(profiles)
  give({ profile: name, server: profile.server }, flags, () => {
    const note = c.dim('the API key itself is still valid')
    return `${c.green('✓')} logged out of ${profile.server} (profile ${name})  ${note}\n`
  })
}

export async function whoami(flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const me = await server.get<Me>('/v1/me')
  give(me, flags, () =>
    facts([
      ['server', server.url],
      ['you are', whoWords(me)],
      ...(me.installationRole === null
        ? []
        : ([['role', `${me.installationRole} of all projects`]] as const)),
      ...me.projects.map(({ name, role }) => ['project', `${printable(name)} (${role})`] as const),
    ]),
  )
}

function whoWords({ kind, name, email }: Me): string {
  if (kind === 'anonymous') return 'anonymous (the server has no API keys)'
  return kind === 'key' ? `API key ${printable(name ?? '')}` : printable(email ?? name ?? '')
}

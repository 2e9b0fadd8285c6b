/**
 * Determines the server and the API key of a command. Flags take precedence over environment variables, variables over
 * profiles, and profiles over the default. The key of a profile is sent only to the server of that profile.
 */
import { DEFAULT_SERVER } from '../../core/values/default-server.ts'
import { CliError, EXIT } from '../exit.ts'
import { DEFAULT_PROFILE, type Profile, profileName, readProfiles } from './profiles.ts'
import { keyFrom, SERVER_VARIABLE, serverUrl } from './server.ts'

/** Flags that select the server and the credentials. */
export interface ConnectionFlags {
  readonly server?: string
  readonly apiKey?: string
  readonly token?: string
  readonly profile?: string
}

/** A server, and the key that the client authenticates with. */
export interface Connection {
  readonly url: string
  /** Null if there is no key. */
  readonly key: string | null
}

/**
 * Environment variables wrongly named after their flag. Ignoring one would send a command to another server, or without its
 * key, unless a flag decides.
 */
const MISNAMED = [
  { name: 'BELFRY_SERVER', right: SERVER_VARIABLE, part: 'server' },
  { name: 'BELFRY_API_KEY', right: 'BELFRY_KEY', part: 'key' },
] as const

/** Throws if a misnamed variable is set, unless it would decide nothing: the server or the key is known without variables. */
export function refuseMisnamed(
  env: NodeJS.ProcessEnv,
  isKnown: { readonly server: boolean; readonly key: boolean },
): void {
  for (const { name, right, part } of MISNAMED)
    if ((env[name] ?? '') !== '' && !isKnown[part])
      throw new CliError(
        `Unknown environment variable ${name}.`,
        `Set ${right} instead, and unset ${name}.`,
        EXIT.usage,
      )
}

export function connectionFrom(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Connection {
  const isNamed = flags.profile !== undefined
  refuseMisnamed(env, {
    server: isNamed || flags.server !== undefined,
    key: isNamed || (flags.apiKey ?? flags.token) !== undefined,
  })
  // A profile named by a flag takes precedence over all environment variables.
  const variables = isNamed ? {} : env
  const key = keyFrom(flags.apiKey ?? flags.token, variables)
  const isPlaced = flags.server !== undefined || (variables[SERVER_VARIABLE] ?? '') !== ''
  if (isPlaced && key !== null && !isNamed) return { url: serverUrl(flags.server, variables), key }
  const profile = profileOf(flags, env)
  const url = isPlaced ? serverUrl(flags.server, variables) : (profile?.server ?? DEFAULT_SERVER)
  return { url, key: key ?? (profile?.server === url ? profile.key : null) }
}

/** Returns the selected profile; null if none is named and there is no default profile. */
function profileOf({ profile: flag }: ConnectionFlags, env: NodeJS.ProcessEnv): Profile | null {
  const name = profileName(flag, env)
  const profile = readProfiles().get(name ?? DEFAULT_PROFILE) ?? null
  if (profile === null && name !== null)
    throw new CliError(
      `The profile '${name}' does not exist.`,
      `To create it: belfry login --profile ${name} --server ${DEFAULT_SERVER}`,
      EXIT.notFound,
    )
  return profile
}

/**
 * `belfry key create`: creates a key through the API, or in the database of this machine's node. The latter is how the first
 * key is created.
 */
import { hostname } from 'node:os'
import type { z } from 'zod'
import { CreateApiKey, type NewApiKey } from '../../api/resources/keys/schemas.ts'
import { INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { invalidInput, REFUSALS, Refusal } from '../../core/errors.ts'
import { editFrom, type KeyLimits, NO_KEY_LIMITS } from '../../core/limits/limits.ts'
import { instantMs } from '../../core/task/task.ts'
import { printable } from '../../core/values/printable.ts'
import { type MadeKey, storeKey } from '../../operations/keys/keys.ts'
import { parse } from '../../operations/validation/parse.ts'
import { knownProjectByName } from '../../store/projects/projects.ts'
import { refuseMisnamed } from '../client/connection.ts'
import { type LimitFlags, limitsFrom } from '../client/limit-flags.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { RefusedError } from '../client/problem.ts'
import { DEFAULT_PROFILE, readProfiles } from '../client/profiles.ts'
import { namingAll } from '../client/refusal.ts'
import { configFrom } from '../config-flags.ts'
import { databaseFlags, openSharedDatabase } from '../database.ts'
import { CliError, EXIT } from '../exit.ts'
import { newKeyText } from './keys.ts'

interface KeyFlags extends ClientFlags, LimitFlags {
  readonly role: string
  readonly name?: string
  readonly expiresAt?: string
  readonly queue?: readonly string[]
  readonly network?: readonly string[]
  readonly dataDir?: string
  readonly databaseUrl?: string
}

const HELP = 'belfry key create --help'

export async function createKey(flags: KeyFlags): Promise<void> {
  const project = flags.project ?? process.env['BELFRY_PROJECT']
  const wanted = {
    name: flags.name ?? flags.role,
    role: flags.role,
    project,
    expiresAt: flags.expiresAt,
    queues: flags.queue,
    networks: flags.network,
    limits: limitsFrom(flags) ?? undefined,
  }
  const made = isRemote(flags)
    ? await namingAll(HELP, () => serverFrom(flags).post<NewApiKey>('/v1/keys', wanted))
    : await createHere(wanted, flags)
  give(made, flags, () => {
    const where = project === undefined ? 'every project' : `project ${printable(project)}`
    return newKeyText(made, `API key ${printable(wanted.name)} (${printable(flags.role)}, ${where}) created`)
  })
}

/** Flags for a database select the database; otherwise a server, a key or a profile selects the API. */
function isRemote({ server, apiKey, token, profile, dataDir, databaseUrl }: KeyFlags): boolean {
  const isServer = [server, apiKey, token, profile].some((flag) => flag !== undefined)
  const isDatabase = dataDir !== undefined || databaseUrl !== undefined
  if (isServer && isDatabase)
    throw new CliError(
      'A key is created either through a server or in a database, and flags for both were given.',
      'Leave out --server and --api-key, or --data-dir and --database-url.',
      EXIT.usage,
    )
  // The key would be created in the database of this machine instead of on that server.
  if (!isServer && !isDatabase) refuseMisnamed(process.env, { server: false, key: false })
  return isServer || (!isDatabase && (SERVER_VARIABLES.some(isSet) || readProfiles().has(DEFAULT_PROFILE)))
}

const SERVER_VARIABLES = ['BELFRY_URL', 'BELFRY_KEY', 'BELFRY_KEY_FILE', 'BELFRY_PROFILE']
const isSet = (variable: string): boolean => (process.env[variable] ?? '') !== ''

async function createHere(wanted: object, flags: KeyFlags): Promise<MadeKey> {
  const key = await namingAll(HELP, async () => checked(wanted))
  const config = configFrom({ ...flags })
  const { db, close } = await openSharedDatabase(config)
  try {
    const project = key.project ?? null
    const [found] = project === null ? [] : await db.run(knownProjectByName(project))
    if (project !== null && !found)
      throw new CliError(
        `Project ${printable(project)} does not exist.`,
        'Create it first: belfry project create',
        EXIT.notFound,
      )
    const projectId = found?.id ?? null
    const part = `command line on ${hostname()}`
    const caller = { db, projectId: projectId ?? INSTALLATION_ID, actor: { kind: 'system', part } } as const
    const others = { areThere: config.adminKey !== null, canBeMembers: config.oidcIssuer !== null }
    const wish = {
      name: key.name,
      role: key.role,
      projectId,
      queues: key.queues ?? null,
      networks: key.networks ?? null,
      limits: key.limits ? { ...NO_KEY_LIMITS, ...editFrom<KeyLimits>(key.limits) } : null,
      expiresAt: key.expiresAt == null ? null : instantMs(key.expiresAt),
      createdBy: part,
    }
    return await storeKey(caller, wish, others)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const hint =
      error.code === 'no_admin_key'
        ? `Create it first: belfry key create --role admin${databaseFlags(config)}. If the server has a BELFRY_ADMIN_KEY, set it for this command too.`
        : `See ${HELP}`
    throw new CliError(error.message, hint, EXIT.conflict)
  } finally {
    await close()
  }
}

/** Validates like the API, with the same messages. */
function checked(wanted: object): z.output<typeof CreateApiKey> {
  const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
  const parsed = parse(CreateApiKey, given, 'body')
  if (parsed.ok) return parsed.value
  const { code, message: detail } = invalidInput(parsed.problems)
  const { status, title } = REFUSALS[code]
  throw new RefusedError({ title, detail, status, code, errors: parsed.problems })
}

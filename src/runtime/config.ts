/**
 * Configuration, read once into a frozen object: flags over environment over file over defaults. This is
 * the only file that reads the environment. A key that is not known is refused with the nearest one that
 * is: a typo must not silently mean the default.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { MIN_ADMIN_KEY_CHARACTERS } from '../core/access/api-key.ts'
import { notPrivate } from '../core/action/address.ts'
import { parseEmailAddress } from '../core/action/email-address.ts'
import { parseSmtpUrl } from '../core/action/smtp-url.ts'
import { isOwnLabel, OWN_LABEL_RULE } from '../core/run/own-labels.ts'
import { parseKeyRing } from '../core/secret/key-ring.ts'
import { type Network, networkText, parseNetwork } from '../core/values/network.ts'
import { nearest } from '../core/words/nearest.ts'
import { LOG_LEVELS, type LogLevel } from '../telemetry/log-level.ts'
import { contradiction, GRACE_IN_TAKEOVERS } from './consistency.ts'
import { PRESET_NAMES, PRESETS, type PresetName } from './presets.ts'
import { parseIssuer, parseScopes } from './sign-in-settings.ts'

export const ROLES = ['api', 'scheduler', 'worker', 'liveness'] as const
export type Role = (typeof ROLES)[number]

/** For how long a connection to the database keeps its session: for good, or for one transaction. */
export const POOLING = ['session', 'transaction'] as const
export type Pooling = (typeof POOLING)[number]

/** Whether tasks may reach loopback and private networks. */
export const PRIVATE_ADDRESSES = ['auto', 'allow', 'refuse'] as const
export type PrivateAddresses = (typeof PRIVATE_ADDRESSES)[number]

/** Whether programs may run; `auto`: where the API listens on loopback and a sandbox works. */
export const EXEC_MODES = ['auto', 'on', 'off'] as const
export type ExecMode = (typeof EXEC_MODES)[number]

/** Every setting, with its value. */
export interface Config {
  readonly host: string
  readonly port: number
  /** The head of a request has to arrive within this time. */
  readonly headersTimeoutMs: number
  /** And all of a request within this. */
  readonly requestTimeoutMs: number
  /** Bytes that the head of a request may have. */
  readonly maxHeaderBytes: number
  /** A response has to be taken within this time. */
  readonly responseTimeoutMs: number
  /** Streams that one caller may have open on a node. */
  readonly maxStreams: number
  /** Connections to the API that may be open at once. */
  readonly maxConnections: number
  /** The database is slow when a simple question takes longer than this. */
  readonly slowDatabaseMs: number
  /** Origins whose pages may change things although they are not this server's own: those of proxies in front of it. */
  readonly allowedOrigins: readonly string[]
  /** Where people find the server, when that is not where it listens; an origin. */
  readonly publicUrl: string | null
  /** Networks of proxies that are believed when they say for whom they ask. */
  readonly trustedProxies: readonly string[]
  /** Files with the certificate that the server shows and with its key; null: it speaks without TLS. */
  readonly tlsCert: string | null
  readonly tlsKey: string | null
  /** A key of the installation with the role admin, which is stored nowhere else. Null: none. */
  readonly adminKey: string | null
  /** The provider that people sign in with; null without one. */
  readonly oidcIssuer: string | null
  readonly oidcClientId: string | null
  /** Null: a public client, which has none. */
  readonly oidcClientSecret: string | null
  readonly oidcScopes: readonly string[]
  /** The claim that lists the groups of a person. */
  readonly oidcGroupsClaim: string
  /** A session that is not used for this long ends. */
  readonly sessionIdleMinutes: number
  /** And each ends this long after signing in. */
  readonly sessionMaxHours: number
  /** Where the embedded database lives. Null: the platform's place for user data. */
  readonly dataDir: string | null
  /** The user that the embedded database runs as when Belfry is root. Null: the owner of the data, or one that exists. */
  readonly runAs: string | null
  /** An external PostgreSQL; null means the embedded one. */
  readonly databaseUrl: string | null
  readonly databasePooling: Pooling
  /** PostgreSQL itself, past a pooler, to hear wake-ups from. */
  readonly databaseDirectUrl: string | null
  readonly roles: readonly Role[]
  /** Runs that this node's worker performs at once. */
  readonly concurrency: number
  readonly maxCalls: number
  readonly logLevel: LogLevel
  readonly shutdownGraceMs: number
  /** How long a node that was asked to stop goes on answering, with /readyz at 503, before it begins to stop. */
  readonly drainMs: number
  readonly historyDays: number
  readonly auditDays: number
  /** What is kept of the log of an attempt, in bytes. */
  readonly maxLogBytes: number
  /** What the worker of this node can do beyond the ordinary, such as gpu. */
  readonly labels: readonly string[]
  readonly exec: ExecMode
  /** Whether programs may run where there is no sandbox. */
  readonly execWithoutSandbox: boolean
  /** Commands of this machine that tasks may run: paths, whose last part may hold stars. */
  readonly execCommands: readonly string[]
  /** What commands may read and write besides the system. */
  readonly execReadable: readonly string[]
  readonly execWritable: readonly string[]
  /** Programs that run at once; 0: one per processor. */
  readonly execConcurrency: number
  /** Limits of programs whose task says nothing, and the most that a task can ask for; 0 processors: all. */
  readonly execMemoryBytes: number
  readonly execMaxMemoryBytes: number
  readonly execCpus: number
  readonly execMaxCpus: number
  readonly execProcesses: number
  readonly execMaxProcesses: number
  readonly execFileBytes: number
  readonly execMaxFileBytes: number
  readonly execMaxOutputBytes: number
  /** Between SIGTERM and SIGKILL. */
  readonly execGraceMs: number
  /** Where uploaded files are kept for programs; null: in the folder for caches of the user. */
  readonly fileCacheDir: string | null
  readonly fileCacheBytes: number
  /** Whether tasks may reach loopback and private networks; `auto`: when the API listens on loopback. */
  readonly privateAddresses: PrivateAddresses
  /** Private networks that tasks may reach when they may not reach all of them. */
  readonly allowedPrivateNetworks: readonly string[]
  /** The mail server that `email` actions go through; null where there is none. */
  readonly smtpUrl: string | null
  /** Who sends where an action does not say. */
  readonly smtpFrom: string | null
  /** Keys that secrets are encrypted with, the first of them; null: from a file. */
  readonly secretsKey: string | null
  /** A file of such keys, which is read again when it changes. Null: the data directory of the embedded database has one. */
  readonly secretsKeyFile: string | null
  /** Which defaults the cadences below have. */
  readonly preset: PresetName
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly reaperMs: number
  /** Runs of dead nodes taken back by one statement. */
  readonly reclaimBatch: number
  readonly lookAheadMs: number
  readonly lookEveryMs: number
  /** Rows that one look reads, over all shards. */
  readonly lookRows: number
  /** Rows fired by one statement. */
  readonly fireBatch: number
  readonly shardBeatMs: number
  readonly shardTakeoverMs: number
  /** What came due while nobody watched for no longer than this simply runs late, whatever its misfire policy. */
  readonly misfireGraceMs: number
  readonly claimEveryMs: number
  /** Runs that a worker takes on beyond its free places, at most. */
  readonly claimAhead: number
  readonly cancelEveryMs: number
  readonly housekeepingMs: number
  readonly deadNodeMinutes: number
  /** 0: unused queues stay. */
  readonly unusedQueueDays: number
  /** 0: unused files stay. */
  readonly unusedFileDays: number
  /** Bytes of the largest file that can be uploaded. */
  readonly maxFileBytes: number
  /** Tasks of projects that say nothing else may be due so often, and not more often. */
  readonly minPeriodMs: number
  /** And so far ahead, in days; 0: any distance. */
  readonly maxAheadDays: number
}

/** A setting that cannot be used; its message says which, why and what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

interface Setting<T> {
  readonly default: T
  readonly help: string
  /** A figure of the engine, which few will change: help gives its name and no more. */
  readonly isCadence?: true
  /** For a server that others than this machine reach: help gives its name and no more. */
  readonly isForNetworks?: true
  /** The value of a text or of a TOML value; throws a sentence that says what is allowed. */
  parse(value: unknown): T
}

const text = (help: string): Setting<string | null> => ({
  default: null,
  help,
  parse: (value) => (typeof value === 'string' && value !== '' ? value : fail('must not be empty')),
})

const whole = (fallback: number, min: number, max: number, help: string): Setting<number> => ({
  default: fallback,
  help,
  parse: (value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number
    return fail(`must be a whole number from ${min} to ${max}`)
  },
})

const cadence = (...figure: Parameters<typeof whole>): Setting<number> => ({
  ...whole(...figure),
  isCadence: true,
})

const MIB = 1024 ** 2

/** Help gives its name and no more. */
const hidden = <T>(setting: Setting<T>): Setting<T> => ({ ...setting, isCadence: true })

const forNetworks = <T>(setting: Setting<T>): Setting<T> => ({ ...setting, isForNetworks: true })

const oneOf = <T extends string>(allowed: readonly T[], fallback: T, help: string): Setting<T> => ({
  default: fallback,
  help,
  parse: (value) => allowed.find((item) => item === value) ?? fail(`must be one of ${allowed.join(', ')}`),
})

const flag = (help: string): Setting<boolean> => ({
  default: false,
  help,
  parse: (value) => {
    if (value === true || value === 'true') return true
    return value === false || value === 'false' ? false : fail('must be true or false')
  },
})

/** Absolute paths without `.` and `..`. */
const paths = (help: string, mayHaveStars = false): Setting<readonly string[]> => ({
  default: [],
  help,
  parse: (value) => {
    const given = typeof value === 'string' ? value.split(',').map((path) => path.trim()) : value
    if (!Array.isArray(given)) return fail('must be a list of absolute paths, such as /usr/bin/rsync')
    for (const path of given)
      if (typeof path !== 'string' || !PLAIN_PATH.test(path) || /\/\.{1,2}(\/|$)/.test(path))
        fail(`contains '${String(path)}'; write absolute paths such as /usr/bin/rsync, without . and ..`)
      else if (path.slice(0, path.lastIndexOf('/')).includes('*') || (!mayHaveStars && path.includes('*')))
        fail(
          `contains '${path}'; ${mayHaveStars ? 'only the last part of a path may contain *' : 'stars are not allowed here'}`,
        )
    return [...new Set<string>(given)]
  },
})
const PLAIN_PATH = /^(\/[^/\s,]+)+$/

/** Percent signs must begin an escape: the password is decoded. An empty host is a local socket. */
const DATABASE_URL = /^postgres(ql)?:\/\/([^%\s]|%[0-9a-f]{2})*$/i

/** Characters of a password that end it where they stand unescaped, and so leave another host behind. */
function unescapedPassword(url: string): string | null {
  const userInfo = /^[a-z][a-z0-9+.-]*:\/\/(.*)@/i.exec(url)?.[1] ?? ''
  const character = /[/?#@\s]/.exec(userInfo)?.[0]
  if (character === undefined) return null
  const escaped = `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  return `contains '${character}' in its user name or password; write it as ${escaped}`
}

const databaseAddress = (help: string): Setting<string | null> => ({
  ...text(help),
  parse: (value) => {
    if (typeof value !== 'string') return fail('must have the form postgresql://user@host/belfry')
    const secret = unescapedPassword(value)
    if (secret !== null) fail(secret)
    return DATABASE_URL.test(value) ? value : fail('must have the form postgresql://user@host/belfry')
  },
})

const roles: Setting<readonly Role[]> = {
  default: ROLES,
  help: 'Roles of this node: api, scheduler, worker, liveness',
  parse: (value) => {
    const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : value
    if (!Array.isArray(names) || names.length === 0) return fail(`must be a list of ${ROLES.join(', ')}`)
    for (const name of names)
      if (!ROLES.includes(name)) fail(`contains '${String(name)}'; the roles are ${ROLES.join(', ')}`)
    return ROLES.filter((role) => names.includes(role))
  },
}

const LABEL = /^[^\s,]{1,100}$/
const labels: Setting<readonly string[]> = {
  default: [],
  help: 'Labels that tasks can require of this worker, such as gpu,eu',
  parse: (value) => {
    const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : value
    if (!Array.isArray(names) || !names.every((name) => typeof name === 'string' && LABEL.test(name))) {
      return fail('must be a list of labels without spaces, such as gpu,eu')
    }
    const own = names.find(isOwnLabel)
    if (own !== undefined) fail(`contains '${own}'; a label ${OWN_LABEL_RULE}`)
    return [...new Set<string>(names)]
  },
}

/** As browsers write them: no path, no slash at the end, and no port where it is the scheme's own. */
const isOrigin = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^https?:/.test(value) &&
  URL.canParse(value) &&
  new URL(value).origin === value

const adminKey: Setting<string | null> = {
  default: null,
  help: 'API key with the role admin, for containers; at least 32 characters',
  parse: (value) =>
    typeof value === 'string' && value.length >= MIN_ADMIN_KEY_CHARACTERS && /^[\x21-\x7e]*$/.test(value)
      ? value
      : fail(`must be at least ${MIN_ADMIN_KEY_CHARACTERS} visible ASCII characters`),
}

const allowedOrigins: Setting<readonly string[]> = {
  default: [],
  help: 'Origins of proxies in front, such as https://belfry.example.com',
  parse: (value) => {
    const origins = typeof value === 'string' ? value.split(',').map((origin) => origin.trim()) : value
    if (!Array.isArray(origins) || !origins.every(isOrigin))
      return fail('must be a list of origins without a path, such as https://belfry.example.com')
    return [...new Set<string>(origins)]
  },
}

/** Addresses and networks, kept as they are written; those who use them read them again. */
const networks = (help: string): Setting<readonly string[]> => ({
  default: [],
  help,
  parse: (value) => {
    const given = typeof value === 'string' ? value.split(',').map((network) => network.trim()) : value
    if (!Array.isArray(given)) return fail('must be a list of networks, such as 10.1.0.0/16')
    return [...new Set<string>(given.map(networkOf))]
  },
})

const privateNetworks = (help: string): Setting<readonly string[]> => ({
  ...networks(help),
  parse: (value) => {
    const given = networks('').parse(value)
    for (const text of given) {
      const problem = notPrivate(parseNetwork(text) as Network)
      if (problem !== null) fail(`contains a network that cannot be allowed: ${problem}`)
    }
    return given
  },
})

function networkOf(value: unknown): string {
  const network = typeof value === 'string' ? parseNetwork(value) : null
  if (network !== null) return networkText(network)
  return fail(`contains '${String(value)}'; write addresses or networks such as 10.1.2.3 and 10.1.0.0/16`)
}

export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  host: {
    ...text('Address to listen on'),
    default: '127.0.0.1',
    parse: (value) => text('').parse(value) as string,
  },
  port: whole(3369, 0, 65_535, 'Port to listen on; 0 picks a free one'),
  headersTimeoutMs: cadence(10_000, 100, 600_000, 'Time limit for receiving the headers of a request'),
  requestTimeoutMs: cadence(30_000, 100, 3_600_000, 'Time limit for receiving a whole request'),
  maxHeaderBytes: cadence(16_384, 4_096, 1_048_576, 'Maximum size of the headers of a request'),
  responseTimeoutMs: cadence(120_000, 100, 3_600_000, 'Time limit for a client to receive a response'),
  maxStreams: cadence(100, 1, 10_000, 'Maximum number of open streams of one caller'),
  maxConnections: cadence(10_000, 1, 1_000_000, 'Maximum number of open connections to the API'),
  slowDatabaseMs: cadence(500, 50, 60_000, 'Delay of the database from which requests are refused'),
  allowedOrigins: forNetworks(allowedOrigins),
  publicUrl: forNetworks({
    ...text('Address that people use, such as https://belfry.example.com'),
    parse: (value) =>
      isOrigin(value)
        ? (value as string)
        : fail('must be an address without a path, such as https://belfry.example.com'),
  }),
  trustedProxies: forNetworks(networks('Addresses of proxies whose X-Forwarded headers are believed')),
  tlsCert: forNetworks(text('File with the TLS certificate and its chain')),
  tlsKey: forNetworks(text('File with the private key of the certificate')),
  adminKey: forNetworks(adminKey),
  oidcIssuer: forNetworks({
    ...text('OpenID Connect provider, such as https://login.example.com'),
    parse: parseIssuer,
  }),
  oidcClientId: forNetworks(text('Client id of Belfry at the provider')),
  oidcClientSecret: forNetworks(text('Client secret of Belfry at the provider')),
  oidcScopes: forNetworks({
    default: ['openid', 'profile', 'email'],
    help: 'Scopes to request from the provider',
    parse: parseScopes,
  }),
  oidcGroupsClaim: forNetworks({
    ...text('Claim that lists the groups of a person'),
    default: 'groups',
    parse: (value) => text('').parse(value) as string,
  }),
  sessionIdleMinutes: cadence(720, 5, 525_600, 'Minutes without use after which a session ends'),
  sessionMaxHours: cadence(168, 1, 8_760, 'Hours after signing in at which a session ends'),
  dataDir: text('Directory of the embedded database'),
  runAs: text('User to run the embedded database as, when started as root'),
  databaseUrl: databaseAddress('PostgreSQL to use instead of the embedded one'),
  databasePooling: oneOf(POOLING, 'session', 'Mode of the pooler: session, transaction'),
  databaseDirectUrl: databaseAddress('PostgreSQL without the pooler, for wake-ups'),
  roles,
  concurrency: whole(50, 1, 100_000, 'Maximum number of concurrent runs, except calls'),
  maxCalls: whole(4_096, 1, 100_000, 'Maximum number of concurrent calls on this node'),
  logLevel: oneOf(LOG_LEVELS, 'info', `Log level: ${LOG_LEVELS.join(', ')}`),
  shutdownGraceMs: whole(30_000, 0, 3_600_000, 'Time for runs in progress to finish on shutdown'),
  drainMs: whole(0, 0, 600_000, 'Time that /readyz answers 503 before shutdown'),
  historyDays: whole(30, 1, 36_500, 'Days to keep history'),
  maxLogBytes: cadence(1_048_576, 1_024, 104_857_600, 'Maximum size of the log of an attempt, in bytes'),
  labels,
  exec: oneOf(EXEC_MODES, 'auto', `Programs (exec actions): ${EXEC_MODES.join(', ')}`),
  execWithoutSandbox: hidden(flag('Run programs even without a sandbox')),
  execCommands: paths('Commands that tasks may run, such as /usr/bin/rsync,/opt/backup/*', true),
  execReadable: hidden(paths('Paths that commands may read')),
  execWritable: hidden(paths('Paths that commands may write to')),
  execConcurrency: cadence(0, 0, 10_000, 'Maximum number of concurrent programs; 0 for one per processor'),
  execMemoryBytes: cadence(512 * MIB, 4 * MIB, 1024 ** 4, 'Default memory of a program'),
  execMaxMemoryBytes: cadence(4_096 * MIB, 4 * MIB, 1024 ** 4, 'Maximum memory of a program'),
  execCpus: cadence(1, 1, 1_024, 'Default processors of a program'),
  execMaxCpus: cadence(0, 0, 1_024, 'Maximum processors of a program; 0 for all'),
  execProcesses: cadence(256, 1, 100_000, 'Default number of processes and threads of a program'),
  execMaxProcesses: cadence(4_096, 1, 100_000, 'Maximum number of processes and threads of a program'),
  execFileBytes: cadence(256 * MIB, 4_096, 1024 ** 4, 'Default size of files that a program can write'),
  execMaxFileBytes: cadence(4_096 * MIB, 4_096, 1024 ** 4, 'Maximum size of files that a program can write'),
  execMaxOutputBytes: cadence(256 * MIB, 1_024, 1024 ** 4, 'Maximum output of a program'),
  execGraceMs: cadence(10_000, 0, 600_000, 'Time between SIGTERM and SIGKILL for programs'),
  fileCacheDir: hidden(text('Directory of the cache of uploaded files')),
  fileCacheBytes: cadence(2_048 * MIB, 0, 1024 ** 5, 'Maximum size of the cache of uploaded files'),
  privateAddresses: forNetworks(
    oneOf(PRIVATE_ADDRESSES, 'auto', 'Requests to private networks: auto, allow, refuse'),
  ),
  allowedPrivateNetworks: forNetworks(privateNetworks('Private networks that tasks may reach')),
  smtpUrl: {
    ...text('Mail server, such as smtp://user:password@host:587'),
    parse: (value) => {
      const secret = typeof value === 'string' ? unescapedPassword(value) : null
      if (secret !== null) fail(secret)
      const parsed = typeof value === 'string' ? parseSmtpUrl(value) : null
      return parsed?.ok ? (value as string) : fail(parsed?.reason ?? 'must be a string')
    },
  },
  smtpFrom: {
    ...text('Default sender of emails'),
    parse: (value) => {
      const parsed = typeof value === 'string' ? parseEmailAddress(value) : null
      return parsed?.ok ? (value as string) : fail(parsed?.reason ?? 'must be a string')
    },
  },
  secretsKey: forNetworks({
    ...text('Keys that encrypt secrets: 32 random bytes each, in base64'),
    parse: (value) => {
      const read = typeof value === 'string' ? parseKeyRing(value) : null
      return read?.ok ? (value as string) : fail(read?.reason ?? 'must be a string')
    },
  }),
  secretsKeyFile: forNetworks(text('File with the keys that encrypt secrets')),
  preset: oneOf(PRESET_NAMES, 'default', 'Set of tuning defaults, such as minute-cron'),
  heartbeatMs: cadence(5_000, 10, 600_000, 'Interval of heartbeats of a node'),
  leaseMs: cadence(15_000, 50, 3_600_000, 'Time without a heartbeat after which a node is dead'),
  reaperMs: cadence(2_000, 10, 600_000, 'Interval of checks for dead nodes'),
  reclaimBatch: cadence(1_000, 1, 10_000, 'Runs of dead nodes reclaimed by one statement'),
  lookAheadMs: cadence(10_000, 100, 3_600_000, 'How far ahead the scheduler reads the agenda'),
  lookEveryMs: cadence(1_000, 10, 600_000, 'Interval at which the scheduler reads the agenda'),
  lookRows: cadence(8_000, 2_000, 100_000, 'Maximum number of rows per read'),
  fireBatch: cadence(1_000, 1, 1_000, 'Maximum number of runs fired by one statement'),
  shardBeatMs: cadence(1_000, 10, 60_000, 'Interval of heartbeats for shards'),
  shardTakeoverMs: cadence(3_000, 50, 300_000, 'Time without a heartbeat after which a shard is taken over'),
  misfireGraceMs: cadence(
    10_000,
    100,
    3_600_000,
    'After an outage up to this long, the latest occurrence runs late',
  ),
  claimEveryMs: cadence(1_000, 10, 60_000, 'Interval at which a worker polls for waiting runs'),
  claimAhead: cadence(4_000, 0, 4_000, 'Maximum number of runs claimed beyond free slots'),
  cancelEveryMs: cadence(1_000, 10, 60_000, 'Interval at which a worker polls for cancellations'),
  housekeepingMs: cadence(600_000, 1_000, 86_400_000, 'Interval of housekeeping, which deletes old data'),
  deadNodeMinutes: cadence(10_080, 1, 525_600, 'Time to keep the record of a dead node'),
  unusedQueueDays: cadence(30, 0, 36_500, 'Days after which an unused queue is removed; 0 to keep all'),
  unusedFileDays: cadence(30, 0, 36_500, 'Days after which an unused file is removed; 0 to keep all'),
  maxFileBytes: cadence(256 * 1024 * 1024, 1_024, 4 * 1024 ** 3, 'Maximum size of a file'),
  auditDays: cadence(365, 1, 36_500, 'Days to keep the audit log'),
  minPeriodMs: cadence(10, 10, 86_400_000, 'Minimum time between two occurrences of a task'),
  maxAheadDays: cadence(0, 0, 36_500, 'Maximum time until the next occurrence; 0 for no limit'),
}

export type ConfigKey = keyof Config
export const CONFIG_KEYS = Object.keys(SETTINGS) as ConfigKey[]
export const CADENCES = CONFIG_KEYS.filter((key) => SETTINGS[key].isCadence)
export const NETWORK_SETTINGS = CONFIG_KEYS.filter((key) => SETTINGS[key].isForNetworks)

/** Variables of the same prefix that other programs of the project read. */
const OTHER_VARIABLES = [
  'BELFRY_CONFIG',
  'BELFRY_URL',
  'BELFRY_KEY',
  'BELFRY_KEY_FILE',
  'BELFRY_PROJECT',
  'BELFRY_PROFILE',
  'BELFRY_TOKEN',
  'BELFRY_TOKEN_FILE',
  'BELFRY_CA_FILE',
]
export const CONFIG_FILE = 'belfry.toml'

/** Where settings are looked for, first things first. */
export interface ConfigSources {
  /** Values given on the command line, by key. */
  readonly flags: Readonly<Partial<Record<ConfigKey, unknown>>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** A configuration file that must exist; without it belfry.toml of the working directory, if there is one. */
  readonly file: string | null
  readonly cwd: string
}

export function readConfig({ flags, env, file, cwd }: ConfigSources): Config {
  const fromEnv = readEnvironment(env)
  const path = file ?? env['BELFRY_CONFIG'] ?? null
  const fromFile = readFile(path ?? CONFIG_FILE, cwd, path !== null)
  const given: Record<string, unknown> = {}
  for (const key of CONFIG_KEYS) {
    const found = [
      { value: flags[key], name: flagOf(key) },
      { value: fromEnv[key], name: variableOf(key) },
      { value: fromFile[key], name: `${snake(key)} in ${path ?? CONFIG_FILE}` },
    ].find(({ value }) => value !== undefined)
    if (found !== undefined) given[key] = parse(key, found)
  }
  const config: Config = { ...defaultsBeside(given), ...given }
  const problem = contradiction(config, { flagOf, isGiven: (key) => key in given })
  if (problem) throw new ConfigError(problem)
  return Object.freeze(config)
}

/** Who hears no wake-ups looks this often for what others have created. */
const UNHEARD_MS = 200

/** What holds where nothing was said, beside what was. */
function defaultsBeside(given: Partial<Config>): Config {
  const ordinary = Object.fromEntries(CONFIG_KEYS.map((key) => [key, SETTINGS[key].default]))
  const preset = {
    ...ordinary,
    ...portBeside(given),
    ...PRESETS[given.preset ?? 'default'],
  } as unknown as Config
  const takeoverMs = given.shardTakeoverMs ?? preset.shardTakeoverMs
  const misfireGraceMs = Math.max(preset.misfireGraceMs, GRACE_IN_TAKEOVERS * takeoverMs)
  const defaults = { ...preset, misfireGraceMs }
  if (given.databasePooling !== 'transaction' || given.databaseDirectUrl) return defaults
  const sooner = (ms: number) => Math.min(ms, UNHEARD_MS)
  return {
    ...defaults,
    lookEveryMs: sooner(defaults.lookEveryMs),
    claimEveryMs: sooner(defaults.claimEveryMs),
  }
}

/** Without the api role the port is for probes only, and beside a node that has it the usual one is taken. */
const portBeside = ({ roles }: Partial<Config>): { port?: number } =>
  roles === undefined || roles.includes('api') ? {} : { port: 0 }

export const flagOf = (key: ConfigKey) => `--${snake(key).replaceAll('_', '-')}`
export const variableOf = (key: ConfigKey) => `BELFRY_${snake(key).toUpperCase()}`
const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Values that nobody may see. */
const SECRETS: readonly ConfigKey[] = [
  'adminKey',
  'oidcClientSecret',
  'databaseUrl',
  'databaseDirectUrl',
  'smtpUrl',
]
/** What an error message does not repeat. Keys have a setting of their own for files. */
const UNTOLD: readonly ConfigKey[] = [...SECRETS, 'secretsKey']

function parse(key: ConfigKey, { value, name }: { value: unknown; name: string }): unknown {
  try {
    return SETTINGS[key].parse(value)
  } catch (error) {
    const shown = UNTOLD.includes(key) ? '…' : String(value).slice(0, 100)
    throw new ConfigError(`${name} is '${shown}'; it ${(error as Error).message}.`)
  }
}

function readEnvironment(env: ConfigSources['env']): Partial<Record<ConfigKey, string>> {
  const known = new Map(CONFIG_KEYS.map((key) => [variableOf(key), key]))
  const found: Partial<Record<ConfigKey, string>> = {}
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('BELFRY_') || OTHER_VARIABLES.includes(name) || value === undefined) continue
    if (isServiceLink(name, value)) continue
    const fileOf = known.get(name.replace(/_FILE$/, ''))
    if (name.endsWith('_FILE') && fileOf !== undefined && SECRETS.includes(fileOf)) {
      found[fileOf] = readSecretFile(name, value)
      continue
    }
    const key = known.get(name)
    if (!key)
      throw new ConfigError(
        `Unknown environment variable ${name}. Did you mean ${nearest(name, [...known.keys()])}?`,
      )
    found[key] = value
  }
  return found
}

/** A secret that a container finds in a file, without the line end that editors put there. */
export function readSecretFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(
      `Cannot read the file '${path}' that ${variable} names: ${(error as Error).message}.`,
    )
  }
}

/**
 * Kubernetes tells every container about a service called belfry in variables of our prefix, of which
 * BELFRY_PORT even has the name of a setting. They are nobody's typing errors.
 */
function isServiceLink(name: string, value: string): boolean {
  return (
    /^BELFRY_(.+_)?SERVICE_(HOST|PORT)(_|$)/.test(name) ||
    /^BELFRY_(.+_)?PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
    (/^BELFRY_(.+_)?PORT$/.test(name) && /^(tcp|udp):\/\//.test(value))
  )
}

function readFile(path: string, cwd: string, mustExist: boolean): Partial<Record<ConfigKey, unknown>> {
  let content: string
  try {
    content = readFileSync(resolve(cwd, path), 'utf8')
  } catch (error) {
    if (!mustExist && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new ConfigError(`Cannot read the configuration file ${path}: ${(error as Error).message}.`)
  }
  const known = new Map(CONFIG_KEYS.map((key) => [snake(key), key]))
  const found: Partial<Record<ConfigKey, unknown>> = {}
  for (const [name, value] of Object.entries(parseFile(path, content))) {
    const key = known.get(name)
    if (!key)
      throw new ConfigError(
        `${path}: '${name}' is not a setting. Did you mean '${nearest(name, [...known.keys()])}'?`,
      )
    found[key] = value
  }
  return found
}

function parseFile(path: string, content: string): Record<string, unknown> {
  try {
    return parseToml(content)
  } catch (error) {
    throw new ConfigError(`${path} is not valid TOML: ${(error as Error).message.split('\n')[0]}.`)
  }
}

function fail(reason: string): never {
  throw new Error(reason)
}

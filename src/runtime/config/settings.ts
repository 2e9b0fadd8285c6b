/**
 * Every setting, declared once: its default, its allowed values and its description in the help. The type of the configuration,
 * the flags, the environment variables, the keys of the file and the reference page are derived from this list.
 */

import { LOG_LEVELS } from '../../telemetry/log-level.ts'
import { EXEC_MODES, POOLING, PRIVATE_ADDRESSES } from './choices.ts'
import { PRESET_NAMES } from './presets.ts'
import { cadence, flag, forNetworks, hidden, oneOf, type Setting, text, whole } from './setting.ts'
import {
  adminKey,
  allowedOrigins,
  databaseAddress,
  keyRing,
  labels,
  mailSender,
  mailServer,
  networks,
  origin,
  paths,
  privateNetworks,
  required,
  roles,
} from './setting-kinds.ts'
import { parseIssuer, parseScopes } from './sign-in-settings.ts'

const MIB = 1024 ** 2

export const SETTINGS = {
  host: required('127.0.0.1', 'Address to listen on'),
  port: whole(3369, 0, 65_535, 'Port to listen on; 0 picks a free one'),
  headersTimeoutMs: cadence(10_000, 100, 600_000, 'Time limit for receiving the headers of a request'),
  requestTimeoutMs: cadence(30_000, 100, 3_600_000, 'Time limit for receiving a whole request'),
  maxHeaderBytes: cadence(16_384, 4_096, 1_048_576, 'Maximum size of the headers of a request'),
  responseTimeoutMs: cadence(120_000, 100, 3_600_000, 'Time limit for a client to receive a response'),
  maxStreams: cadence(100, 1, 10_000, 'Maximum number of open streams of one caller'),
  maxConnections: cadence(10_000, 1, 1_000_000, 'Maximum number of open connections to the API'),
  slowDatabaseMs: cadence(500, 50, 60_000, 'Database latency above which requests are refused'),
  /** Other origins whose pages may make changes, such as those of proxies in front of this server. */
  allowedOrigins: forNetworks(allowedOrigins),
  /** The origin at which people reach the server, if it differs from the one it listens on. */
  publicUrl: forNetworks(origin('Address that people use, such as https://belfry.example.com')),
  /** Networks of proxies whose X-Forwarded headers are trusted. */
  trustedProxies: forNetworks(networks('Addresses of proxies whose X-Forwarded headers are trusted')),
  /** The files of the server's TLS certificate and its private key; null for a server without TLS. */
  tlsCert: forNetworks(text('File with the TLS certificate and its chain')),
  tlsKey: forNetworks(text('File with the private key of the certificate')),
  /** A key of the installation with the role admin, which is stored nowhere else. Null if there is none. */
  adminKey: forNetworks(adminKey),
  /** The OpenID Connect provider for signing in; null if there is none. */
  oidcIssuer: forNetworks({
    ...text('OpenID Connect provider, such as https://login.example.com'),
    parse: parseIssuer,
  }),
  oidcClientId: forNetworks(text('Client id of Belfry at the provider')),
  /** Null for a public client, which has no secret. */
  oidcClientSecret: forNetworks(text('Client secret of Belfry at the provider')),
  oidcScopes: forNetworks({
    default: ['openid', 'profile', 'email'],
    help: 'Scopes to request from the provider',
    parse: parseScopes,
  }),
  oidcGroupsClaim: forNetworks(required('groups', 'Claim that lists the groups of a person')),
  sessionIdleMinutes: cadence(720, 5, 525_600, 'Idle time in minutes after which a session ends'),
  sessionMaxHours: cadence(168, 1, 8_760, 'Hours after signing in until a session ends'),
  /** Null means the platform's directory for user data. */
  dataDir: text('Directory of the embedded database'),
  /**
   * The user that runs the embedded database if Belfry runs as root. Null means the owner of the data, or an existing
   * unprivileged user.
   */
  runAs: text('User to run the embedded database as, when started as root'),
  /** An external PostgreSQL; null means the embedded one. */
  databaseUrl: databaseAddress('PostgreSQL to use instead of the embedded one'),
  databasePooling: oneOf(POOLING, 'session', 'Mode of the pooler: session, transaction'),
  databaseDirectUrl: databaseAddress('PostgreSQL without the pooler, for wake-ups'),
  /** The pools for requests and for the engine are reduced so that a node with all roles does not exceed this. */
  databaseConnections: hidden(whole(30, 20, 30, 'Maximum number of database connections of this node')),
  roles,
  concurrency: whole(50, 1, 100_000, 'Maximum number of concurrent runs, not counting calls'),
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
  /**
   * With `auto`, programs may use the network if tasks may reach private networks, because nothing else would keep a program
   * out of these.
   */
  execNetwork: hidden(
    oneOf(PRIVATE_ADDRESSES, 'auto', 'Network access of programs that request it: auto, allow, refuse'),
  ),
  execConcurrency: cadence(0, 0, 10_000, 'Maximum number of concurrent programs; 0 for one per processor'),
  /** Default and maximum limits of programs; 0 processors means all. */
  execMemoryBytes: cadence(512 * MIB, 4 * MIB, 1024 ** 4, 'Default memory of a program'),
  execMaxMemoryBytes: cadence(4_096 * MIB, 4 * MIB, 1024 ** 4, 'Maximum memory of a program'),
  execCpus: cadence(1, 1, 1_024, 'Default number of processors of a program'),
  execMaxCpus: cadence(0, 0, 1_024, 'Maximum number of processors of a program; 0 for all'),
  execProcesses: cadence(256, 1, 100_000, 'Default number of processes and threads of a program'),
  execMaxProcesses: cadence(4_096, 1, 100_000, 'Maximum number of processes and threads of a program'),
  execFileBytes: cadence(256 * MIB, 4_096, 1024 ** 4, 'Default size of files that a program can write'),
  execMaxFileBytes: cadence(4_096 * MIB, 4_096, 1024 ** 4, 'Maximum size of files that a program can write'),
  execMaxOutputBytes: cadence(256 * MIB, 1_024, 1024 ** 4, 'Maximum output of a program'),
  execGraceMs: cadence(10_000, 0, 600_000, 'Time between SIGTERM and SIGKILL for programs'),
  /** Null means the user's cache directory. */
  fileCacheDir: hidden(text('Directory of the cache of uploaded files')),
  fileCacheBytes: cadence(2_048 * MIB, 0, 1024 ** 5, 'Maximum size of the cache of uploaded files'),
  privateAddresses: forNetworks(
    oneOf(PRIVATE_ADDRESSES, 'auto', 'Requests to private networks: auto, allow, refuse'),
  ),
  /** Private networks that tasks may reach even if they may not reach all of them. */
  allowedPrivateNetworks: forNetworks(privateNetworks('Private networks that tasks may reach')),
  /** The mail server for `email` actions; null if there is none. */
  smtpUrl: mailServer('Mail server, such as smtp://user:password@host:587'),
  smtpFrom: mailSender('Default sender of emails'),
  /** Keys for secrets, of which the first encrypts. Null means that a file contains them. */
  secretsKey: forNetworks(keyRing('Keys that encrypt secrets: 32 random bytes each, in base64')),
  /**
   * A file with such keys, which is read again when it changes. Null means the file in the data directory of the embedded
   * database.
   */
  secretsKeyFile: forNetworks(text('File with the keys that encrypt secrets')),
  /** Which defaults the intervals and batch sizes below have. */
  preset: oneOf(PRESET_NAMES, 'default', 'Set of tuning defaults, such as minute-cron'),
  heartbeatMs: cadence(5_000, 10, 600_000, 'Interval of heartbeats of a node'),
  leaseMs: cadence(15_000, 50, 3_600_000, 'Time without a heartbeat after which a node is dead'),
  reaperMs: cadence(2_000, 10, 600_000, 'Interval of checks for dead nodes'),
  reclaimBatch: cadence(1_000, 1, 10_000, 'Maximum number of runs of dead nodes reclaimed by one statement'),
  lookAheadMs: cadence(10_000, 100, 3_600_000, 'How far ahead the scheduler reads the agenda'),
  lookEveryMs: cadence(1_000, 10, 600_000, 'Interval at which the scheduler reads the agenda'),
  lookRows: cadence(8_000, 2_000, 100_000, 'Maximum number of rows per read'),
  fireBatch: cadence(1_000, 1, 1_000, 'Maximum number of runs fired by one statement'),
  shardBeatMs: cadence(1_000, 10, 60_000, 'Interval of heartbeats for shards'),
  shardTakeoverMs: cadence(3_000, 50, 300_000, 'Time without a heartbeat after which a shard is taken over'),
  /** After an unwatched period no longer than this, the newest occurrence runs late under every misfire policy. */
  misfireGraceMs: cadence(
    10_000,
    100,
    3_600_000,
    'Maximum outage after which the latest occurrence runs under every policy',
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
} as const satisfies Readonly<Record<string, Setting<unknown>>>

type Settings = typeof SETTINGS
export type ConfigKey = keyof Settings

/** The type of the configuration: every setting with its value. */
export type Config = {
  readonly [K in ConfigKey]: Settings[K] extends Setting<infer T> ? T : never
}

export const CONFIG_KEYS = Object.keys(SETTINGS) as ConfigKey[]
const settingOf = (key: ConfigKey): Setting<unknown> => SETTINGS[key]
export const CADENCES = CONFIG_KEYS.filter((key) => settingOf(key).isCadence)
export const NETWORK_SETTINGS = CONFIG_KEYS.filter((key) => settingOf(key).isForNetworks)

export const flagOf = (key: ConfigKey) => `--${snake(key).replaceAll('_', '-')}`
export const variableOf = (key: ConfigKey) => `BELFRY_${snake(key).toUpperCase()}`
/** The name of a setting in the configuration file. */
export const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

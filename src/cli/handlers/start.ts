/** `belfry start`: starts a node, prints its addresses, and serves until it is asked to stop. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CertificateError, readCertificate } from '../../api/http/tls/certificate.ts'
import {
  defaultDataDir,
  EmbeddedPostgresError,
  isShared,
  readOwner,
  superviseEmbeddedPostgres,
} from '../../embedded/server.ts'
import { isForThisMachine, isLoopback } from '../../node/loopback.ts'
import type { Node } from '../../node/node.ts'
import { OpenHostError } from '../../node/open-host.ts'
import type { Config } from '../../runtime/config/settings.ts'
import { troubleOf } from '../../store/database/database-trouble.ts'
import { MigrationError } from '../../store/schema/migrate.ts'
import { createLogger, type Logger } from '../../telemetry/logger.ts'
import { printBanner } from '../banner.ts'
import { databaseFlags, type OpenDatabase, openDatabase, shownPath, shownUrl } from '../database.ts'
import { CliError, EXIT } from '../exit.ts'
import { startedByNpm } from '../npm.ts'
import { findPortUser, isPortFree } from '../port-user.ts'
import { Signals } from '../signals.ts'
import { Steps } from '../steps.ts'
import { printOut } from '../terminal.ts'
import { VERSION } from '../version.ts'
import { tryWakeUps } from '../wake-ups.ts'

/** The build places the dashboard next to the program. */
const DASHBOARD = fileURLToPath(new URL('./web', import.meta.url))
/** Stored in the data directory, unless another path is configured. */
const KEY_FILE = 'secrets.key'
/** Maximum time for the embedded database to shut down after a second Ctrl-C. */
const ABORT_MS = 5_000

interface Holder {
  readonly pid: number
  readonly url: string | null
}

export async function start(config: Config): Promise<void> {
  await refuseBadCertificate(config)
  const holder = holderOfData(config)
  if (holder) return tellAlreadyRunning(holder)
  if (!(await isPortFree(config.host, config.port))) throw portTaken(config.port)

  const signals = new Signals(startedByNpm(process.env))
  void signals.nth(3).then(() => process.exit(EXIT.interrupted))
  // The rest of the program is loaded while the database starts, which is mostly waiting.
  const loading = import('../../node/node.ts')
  loading.catch(() => {})
  const steps = new Steps()
  steps.title(`Belfry ${VERSION}`)
  steps.done('node', process.versions.node)
  steps.begin('database', 'starting')
  const database = await openDatabase(
    config,
    (text) => steps.update(text),
    (text) => steps.note('database', text),
  ).catch((error: unknown) => {
    steps.clear()
    if (error instanceof EmbeddedPostgresError && error.holder) return error.holder
    throw error
  })
  if (!('db' in database)) return tellAlreadyRunning(database)
  tellDatabase(steps, database)
  await tellWakeUps(steps, config, database)
  if (signals.count > 0) return giveUpStarting(database)

  const log = await createLogger({ level: config.logLevel, pretty: process.stderr.isTTY === true })
  const { startNode } = await loading
  let outdated: MigrationError | null = null
  const node = await startNode({
    config,
    db: database.db,
    databaseUrl: database.url,
    databasePlace: database.embedded ? shownPath(database.embedded.dataDir) : shownUrl(database.url),
    isEmbedded: database.embedded !== null,
    ownKeyFile: database.embedded && {
      path: join(database.embedded.dataDir, KEY_FILE),
      withRights: database.embedded.withRights,
    },
    version: VERSION,
    dashboardDir: DASHBOARD,
    log,
    lastMigration: database.lastMigration,
    onTooOld: (reason) => {
      outdated = new MigrationError(reason)
      signals.raise('a newer database')
    },
    onDeclaredDead: () => process.exit(EXIT.failed),
  }).catch(async (error: unknown) => {
    await database.close()
    throw describeTrouble(error) ?? describeOpenHost(error, config) ?? describeListenError(error, config)
  })
  const hasApi = config.roles.includes('api')
  database.embedded?.owner.update({ url: hasApi ? node.url : null, nodeId: node.id })
  steps.done('clock', `${Math.round(Math.abs(node.clockOffsetMs))} ms from the database`)
  steps.done('roles', describeRoles(config))
  if (node.programs) steps[node.programs.isConcern ? 'note' : 'done']('programs', node.programs.text)
  if (hasApi) tellEncryption(steps, config)
  if (config.preset !== 'default') steps.done('preset', config.preset)
  printBanner({
    url: hasApi ? (config.publicUrl ?? node.url) : node.url,
    hasApi,
    dataDir: database.embedded?.dataDir ?? null,
    graceMs: config.shutdownGraceMs,
    isLoopback: isForThisMachine(config),
    isOpen: node.isOpen,
  })
  await serve({ config, node, database, signals, log: log.child({ node: node.id }) })
  if (outdated !== null) throw outdated
}

interface Serving {
  readonly config: Config
  readonly node: Node
  readonly database: OpenDatabase
  readonly signals: Signals
  readonly log: Logger
}

/** Serves until a signal comes; a second one ends the wait for runs in progress. */
async function serve({ config, node, database, signals, log }: Serving): Promise<void> {
  let giveUp: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const unsupervise = database.embedded
    ? superviseEmbeddedPostgres(database.embedded, { log: (text) => log.warn(text), onGivenUp: giveUp })
    : () => {}
  const signal = await Promise.race([failed, signals.nth(1)])
  log.info({ signal }, 'stopping')
  printOut(
    `\nStopping: runs in progress have ${Math.round(config.shutdownGraceMs / 1000)} s to finish. Press Ctrl-C again to stop immediately.\n`,
  )

  let failure: unknown = null
  const stopped = node.stop().catch((error: unknown) => {
    failure = error
  })
  await Promise.race([stopped, signals.nth(2)])
  unsupervise()
  if (signals.count > 1) {
    log.warn('stopped immediately; interrupted runs are reclaimed by another node or at the next start')
    log.flush()
    await Promise.race([database.embedded?.stop(), delay(ABORT_MS)]).catch(() => {})
    process.exit(EXIT.interrupted)
  }
  await database.close()
  if (failure !== null) throw cutShort(failure)
  log.info('stopped')
  log.flush()
  printOut('Stopped.\n')
}

/** The other nodes declare a node dead that stops without access to the database, and reclaim its runs. */
function cutShort(failure: unknown): unknown {
  if (!troubleOf(failure)) return failure
  return new CliError(
    'Stopped while the database was unavailable; runs in progress will be repeated.',
    'Restore the database; the runs are reclaimed by another node or at the next start.',
    EXIT.unreachable,
  )
}

async function giveUpStarting(database: OpenDatabase): Promise<void> {
  printOut('\nStopping before the start was complete.\n')
  await database.close()
  process.exitCode = EXIT.interrupted
}

function describeOpenHost(error: unknown, config: Config): CliError | null {
  if (!(error instanceof OpenHostError)) return null
  const why =
    error.proxy === null
      ? `Belfry does not listen on ${error.host} without a valid admin key of the installation: others can reach that address.`
      : `Belfry does not start behind a proxy (${error.proxy}) without a valid admin key of the installation: others can reach it.`
  return new CliError(why, `Create one: belfry key create --role admin${databaseFlags(config)}`, EXIT.usage)
}

/** Checks the certificate before anything is started, since a node with an invalid certificate cannot serve. */
async function refuseBadCertificate({ tlsCert: certFile, tlsKey: keyFile }: Config): Promise<void> {
  if (certFile === null || keyFile === null) return
  try {
    await readCertificate({ certFile, keyFile })
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    throw new CliError(
      error.message,
      'Give a certificate and its key with --tls-cert and --tls-key.',
      EXIT.usage,
    )
  }
}

function holderOfData({ databaseUrl, dataDir }: Config): Holder | null {
  if (databaseUrl !== null) return null
  try {
    return readOwner(dataDir ?? defaultDataDir())
  } catch {
    return null // openDatabase reports the cause better.
  }
}

/** Not an error: the requested node is running. */
function tellAlreadyRunning({ pid, url }: Holder): void {
  printOut(
    `Already running (pid ${pid}, ${url ?? 'still starting or without an API'}).\n` +
      `To stop it: press Ctrl-C in its terminal, or kill ${pid}. To start another one: --data-dir and --port.\n`,
  )
}

function tellDatabase(steps: Steps, database: OpenDatabase): void {
  const { embedded, version, url, pooler, applied, migrations } = database
  const how = embedded === null ? '' : describeStart(embedded)
  const between = pooler === null ? '' : ` through a pooler in ${pooler} mode`
  steps.done(
    'database',
    embedded === null
      ? `PostgreSQL ${version} at ${shownUrl(url)}${between}`
      : `embedded PostgreSQL ${version} in ${embedded.dataDir}${how}`,
  )
  if (embedded?.runsAs) tellUser(steps, embedded.runsAs)
  steps.done(
    'schema',
    applied.length === 0 ? `up to date (${migrations} migrations)` : `${applied.length} migrations applied`,
  )
}

/** If other programs run as the same user, a flaw in any of them would expose the database's files. */
function tellUser(steps: Steps, user: NonNullable<OpenDatabase['embedded']>['runsAs'] & object): void {
  const how = `root; the database runs as '${user.name}'`
  if (!isShared(user)) steps.done('user', how)
  else steps.note('user', `${how}, which other programs use too; for a dedicated user: --run-as`)
}

/** API keys sent unencrypted over a network can be read by others. */
function tellEncryption(steps: Steps, { host, tlsCert, trustedProxies }: Config): void {
  if (isLoopback(host) || tlsCert !== null || trustedProxies.length > 0) return
  steps.note(
    'network',
    `${host} without TLS: others on the network can read API keys; use --tls-cert and --tls-key`,
  )
}

/**
 * Reports whether wake-ups arrive at a separate address for listening, and what their absence means if Belfry cannot listen at
 * all.
 */
async function tellWakeUps(steps: Steps, config: Config, { db, close }: OpenDatabase): Promise<void> {
  const { databasePooling, databaseDirectUrl, lookEveryMs } = config
  if (databaseDirectUrl === null) {
    if (databasePooling === 'transaction')
      steps.note('wake-ups', `none without --database-direct-url; polling every ${lookEveryMs} ms instead`)
    return
  }
  const hearing = await tryWakeUps(db, databaseDirectUrl).catch(async (error: unknown) => {
    await close()
    throw error
  })
  const where = `at ${shownUrl(databaseDirectUrl)}`
  if (hearing.kind === 'heard') steps.done('wake-ups', `received ${where} after ${hearing.ms} ms`)
  else steps.note('wake-ups', `not received ${where} yet: ${hearing.error.message}`)
}

function describeStart({ initialised, adopted, recoveredMs }: NonNullable<OpenDatabase['embedded']>): string {
  if (initialised) return ' (new)'
  if (adopted) return ' (was still running)'
  return recoveredMs === null ? '' : ` (recovered in ${(recoveredMs / 1000).toFixed(1)} s)`
}

function describeRoles({ roles, concurrency }: Config): string {
  return roles.map((role) => (role === 'worker' ? `worker (${concurrency} at once)` : role)).join(', ')
}

function portTaken(port: number): CliError {
  const user = findPortUser(port)
  return new CliError(
    `Port ${port} is in use by ${user === null ? 'another program' : `${user.name} (pid ${user.pid})`}.`,
    'Use --port 0 for a free port, or stop the other program.',
    EXIT.conflict,
  )
}

/** The database became unavailable after it was opened, while the parts of the node were starting. */
function describeTrouble(error: unknown): CliError | null {
  const trouble = troubleOf(error)
  return trouble ? new CliError(trouble.detail, 'Fix this and start again.', EXIT.unreachable) : null
}

function describeListenError(error: unknown, { host, port }: Config): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return portTaken(port)
    case 'EACCES':
      return new CliError(`This user is not allowed to listen on port ${port}.`, 'Use a port above 1023.')
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new CliError(`This machine has no address ${host}.`, 'Use --host 127.0.0.1.', EXIT.usage)
    default:
      return error
  }
}

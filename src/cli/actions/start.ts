import { execFileSync } from 'node:child_process'
import type { Command } from 'commander'
import { EmbeddedPostgresError, superviseEmbeddedPostgres } from '../../embedded/server.ts'
import type { Config } from '../../runtime/config.ts'
import { createLogger, type Logger } from '../../runtime/logger.ts'
import { printBanner } from '../banner.ts'
import { addConfigFlags, configFrom } from '../config-flags.ts'
import { type OpenDatabase, openDatabase, shownUrl } from '../database.ts'
import { CliError, EXIT } from '../exit.ts'
import { isLoopback, type Node, startNode } from '../node.ts'
import { Steps } from '../steps.ts'
import { VERSION } from '../version.ts'

export function startCommand(program: Command): void {
  const command = program
    .command('start')
    .description('Start Belfry: the database if need be, the scheduler, a worker and the API')
  addConfigFlags(command, [
    'port',
    'host',
    'dataDir',
    'databaseUrl',
    'roles',
    'concurrency',
    'logLevel',
    'heartbeatMs',
    'leaseMs',
    'reaperMs',
    'lookAheadMs',
    'shutdownGraceMs',
  ])
  command.addHelpText(
    'after',
    `
Examples:
  belfry start                                   everything on this machine, with its own database
  belfry start --port 0 --data-dir ./data        on a free port, with the data here
  belfry start --database-url postgresql://belfry@db.example.com/belfry
  belfry start --roles worker --concurrency 200  one of many workers on a shared database
`,
  )
  command.action(async (flags) => start(configFrom(flags)))
}

async function start(config: Config): Promise<void> {
  if (!isLoopback(config.host)) {
    throw new CliError(
      `Belfry has no API keys yet, so it does not listen on ${config.host}: everybody who can reach it could use it.`,
      'Leave --host at 127.0.0.1 and put a proxy that authenticates in front of it.',
      EXIT.usage,
    )
  }
  const steps = new Steps()
  steps.title(`Belfry ${VERSION}`)
  steps.done('node', process.versions.node)
  steps.begin('database', 'starting')
  const database = await openDatabase(config, (text) => steps.update(text)).catch((error: unknown) => {
    steps.clear()
    const holder =
      error instanceof EmbeddedPostgresError && error.code === 'data_dir_in_use' ? error.holder : null
    if (!holder) throw error
    throw new CliError(
      `Already running (pid ${holder.pid}${holder.url === null ? '' : `, ${holder.url}`}) on this data directory.`,
      'Use that one, stop it first, or give another --data-dir.',
      EXIT.conflict,
    )
  })
  steps.done('database', describeDatabase(database))
  steps.done(
    'schema',
    database.applied.length === 0
      ? `up to date (${database.migrations} migrations)`
      : `${database.applied.length} migrations applied`,
  )

  const log = await createLogger({ level: config.logLevel, pretty: process.stderr.isTTY === true })
  const node = await startNode({
    config,
    db: database.db,
    wakeUpUrl: database.embedded === null ? database.url : null,
    version: VERSION,
    log,
    onDeclaredDead: () => process.exit(EXIT.failed),
  }).catch(async (error: unknown) => {
    await database.close()
    throw portTaken(error, config)
  })
  if (node.url !== null) database.embedded?.owner.update({ url: node.url })
  steps.done('clock', `${Math.round(Math.abs(node.clockOffsetMs))} ms from the database`)
  steps.done(
    'roles',
    config.roles
      .map((role) => (role === 'worker' ? `worker (${config.concurrency} at once)` : role))
      .join(', '),
  )
  printBanner({ url: node.url, dataDir: database.embedded?.dataDir ?? null, graceMs: config.shutdownGraceMs })
  await runUntilStopped({ node, database, log })
}

function describeDatabase({ embedded, version, url }: OpenDatabase): string {
  if (!embedded) return `PostgreSQL ${version} at ${shownUrl(url)}`
  const how = embedded.initialised
    ? ' (new)'
    : embedded.adopted
      ? ' (was still running)'
      : embedded.recoveredMs !== null
        ? ` (recovered in ${embedded.recoveredMs} ms)`
        : ''
  return `embedded PostgreSQL ${version} in ${embedded.dataDir}${how}`
}

/** Serves until a signal comes; a second signal ends the wait for runs in progress. */
async function runUntilStopped({
  node,
  database,
  log,
}: {
  node: Node
  database: OpenDatabase
  log: Logger
}): Promise<void> {
  let giveUp: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const unsupervise = database.embedded
    ? superviseEmbeddedPostgres(database.embedded, { log: (text) => log.warn(text), onGivenUp: giveUp })
    : () => {}
  const signal = await Promise.race([failed, nextSignal()])
  log.info({ signal }, 'stopping')
  const abort = nextSignal().then(() => process.exit(EXIT.interrupted))
  await Promise.race([node.stop(), abort])
  unsupervise()
  await database.close()
  log.info('stopped')
  log.flush()
}

function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve(name))
  })
}

function portTaken(error: unknown, { host, port }: Config): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CliError(
      `Port ${port} is already used${userOf(port)}.`,
      'Use --port 0 for a free one, or stop the other program.',
      EXIT.conflict,
    )
  if (code === 'EACCES')
    return new CliError(`This user may not listen on port ${port}.`, 'Use a port above 1023.')
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CliError(`This machine has no address ${host}.`, 'Use --host 127.0.0.1.', EXIT.usage)
  return error
}

/** Who listens on a port, where the system can say. */
function userOf(port: number): string {
  try {
    const line = execFileSync('ss', ['-ltnpH', `sport = :${port}`], {
      encoding: 'utf8',
      timeout: 1_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const match = /\("([^"]+)",pid=(\d+)/.exec(line)
    return match ? ` by ${match[1]} (pid ${match[2]})` : ''
  } catch {
    return ''
  }
}

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readCertificate } from '../../api/http/tls/certificate.ts'
import { findBinaries } from '../../embedded/binaries.ts'
import { describeFileError } from '../../embedded/errors.ts'
import { defaultDataDir, readOwner } from '../../embedded/server.ts'
import { isLoopback } from '../../node/loopback.ts'
import { stateOf, whyOff } from '../../programs/programs.ts'
import type { Config } from '../../runtime/config/settings.ts'
import { detectSandbox } from '../../sandbox/detect.ts'
import { Database } from '../../store/database/database.ts'
import { meet } from '../../store/database/pooling.ts'
import { sql } from '../../store/database/sql.ts'
import { readClock } from '../../store/nodes/nodes.ts'
import { describeFailure, refusePooler, shownUrl } from '../database.ts'
import { EXIT } from '../exit.ts'
import { findPortUser, isPortFree } from '../port-user.ts'
import { onStdout as pc, printOut } from '../terminal.ts'
import { VERSION } from '../version.ts'
import { tryWakeUps } from '../wake-ups.ts'

interface Finding {
  readonly check: string
  readonly status: 'ok' | 'note' | 'problem'
  readonly text: string
}

const LEAST_FREE_BYTES = 1024 ** 3

/** Checks everything that `belfry start` depends on, without changing anything, and prints advice for each problem. */
export async function doctor(config: Config, { json }: { json: boolean }): Promise<void> {
  const findings = await examine(config)
  if (json) printOut(`${JSON.stringify(findings, null, 2)}\n`)
  else
    for (const { check, status, text } of findings)
      printOut(`  ${SIGN[status]} ${check.padEnd(12)} ${text}\n`)
  if (findings.some(({ status }) => status === 'problem')) process.exitCode = EXIT.failed
}

const SIGN = { ok: pc.green('✓'), note: pc.yellow('!'), problem: pc.red('✕') }

async function examine(config: Config): Promise<Finding[]> {
  const { node, tz } = process.versions as { node: string; tz?: string }
  const found: Finding[] = [
    { check: 'belfry', status: 'ok', text: VERSION },
    { check: 'node', status: 'ok', text: node },
    { check: 'time zones', status: 'ok', text: `data of ${tz ?? 'an unknown release'}` },
  ]
  if (process.getuid?.() === 0)
    found.push({
      check: 'user',
      status: 'note',
      text: 'root; the embedded database runs as an unprivileged user',
    })
  return [
    ...found,
    ...(config.databaseUrl === null
      ? examineEmbedded(config)
      : await examineExternal(config, config.databaseUrl)),
    await examinePort(config),
    ...(await examinePrograms(config)),
    ...(await examineCertificate(config)),
    ...(await examineProvider(config)),
  ]
}

async function examinePort({ host, port }: Config): Promise<Finding> {
  const check = 'port'
  if (await isPortFree(host, port)) return { check, status: 'ok', text: `${port} is free` }
  const user = findPortUser(port)
  const who = user === null ? 'another program' : `${user.name} (pid ${user.pid})`
  return { check, status: 'note', text: `${port} is in use by ${who}; for a free port: --port 0` }
}

/** Checks by running a program in the sandbox, if the settings allow programs. */
async function examinePrograms(config: Config): Promise<Finding[]> {
  if (!config.roles.includes('worker')) return []
  const check = 'programs'
  const off = whyOff(config, isLoopback(config.host))
  if (off !== null) return [{ check, status: 'ok', text: off }]
  const { sandbox, reason } = await detectSandbox({ directory: null, allowNone: config.execWithoutSandbox })
  await sandbox?.close()
  const { isConcern, text } = stateOf(sandbox, reason, config)
  return [{ check, status: isConcern ? 'note' : 'ok', text }]
}

async function examineCertificate({ tlsCert: certFile, tlsKey: keyFile }: Config): Promise<Finding[]> {
  if (certFile === null || keyFile === null) return []
  const check = 'certificate'
  try {
    const { names, expiresAt } = await readCertificate({ certFile, keyFile })
    const until = new Date(expiresAt).toISOString()
    if (expiresAt <= Date.now())
      return [{ check, status: 'problem', text: `for ${names}, expired at ${until}: renew it` }]
    return [{ check, status: 'ok', text: `for ${names}, valid until ${until}` }]
  } catch (error) {
    return [problem(check, error)]
  }
}

/** Checks only that the provider responds. Whether Belfry is registered there becomes known at the first sign-in. */
async function examineProvider(config: Config): Promise<Finding[]> {
  if (config.oidcIssuer === null) return []
  const check = 'sign-in'
  const { providerFrom } = await import('../../operations/people/openid-provider.ts')
  try {
    const provider = providerFrom(config)
    await provider?.begin()
    return [
      {
        check,
        status: 'ok',
        text: `${config.oidcIssuer} responds; the redirect URL ${provider?.redirectUrl} must be registered there`,
      },
    ]
  } catch (error) {
    const reason = (error as Error).message
    return [{ check, status: 'problem', text: `${config.oidcIssuer} cannot be used: ${reason}` }]
  }
}

function examineEmbedded(config: Config): Finding[] {
  const dataDir = config.dataDir ?? defaultDataDir()
  const findings: Finding[] = [attempt('postgres', () => `embedded PostgreSQL ${findBinaries().version}`)]
  if (!existsSync(dataDir))
    return [...findings, { check: 'data', status: 'ok', text: `${dataDir} (created on first start)` }]
  findings.push(attempt('data', () => usable(dataDir)))
  const owner = existsSync(join(dataDir, 'belfry.json')) ? readOwner(dataDir) : null
  if (owner)
    findings.push({
      check: 'running',
      status: 'note',
      text: `pid ${owner.pid}${owner.url === null ? '' : ` at ${owner.url}`}`,
    })
  const { bavail, bsize } = statfsSync(dataDir)
  const free = bavail * bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free`
  findings.push({
    check: 'disk',
    status: free < LEAST_FREE_BYTES ? 'problem' : 'ok',
    text: free < LEAST_FREE_BYTES ? `${text}: free disk space or use another --data-dir` : text,
  })
  return findings
}

function usable(dataDir: string): string {
  try {
    if (!statSync(dataDir).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw describeFileError(error, dataDir)
  }
  return dataDir
}

async function examineExternal(config: Config, url: string): Promise<Finding[]> {
  try {
    const met = await meet(url)
    const database: Finding = {
      check: 'database',
      status: 'ok',
      text: `PostgreSQL ${met.version} at ${shownUrl(url)}`,
    }
    const pooling = attempt('pooling', () => {
      refusePooler(met, config.databasePooling, url)
      return met.pooler === null ? 'direct connection, no pooler' : `through a pooler in ${met.pooler} mode`
    })
    if (pooling.status === 'problem') return [database, pooling]
    return [database, adviseOn(pooling, config, met.pooler === null), ...(await examineSession(config, url))]
  } catch (error) {
    return [problem('database', describeFailure(error, url))]
  }
}

function adviseOn(pooling: Finding, config: Config, isDirect: boolean): Finding {
  if (!isDirect || config.databasePooling === 'session') return pooling
  return {
    ...pooling,
    status: 'note',
    text: `${pooling.text}: --database-pooling is not needed and slows Belfry down`,
  }
}

async function examineSession(config: Config, url: string): Promise<Finding[]> {
  const db = new Database({
    url,
    applicationName: 'belfry doctor',
    maxConnections: 1,
    statementTimeoutMs: 5_000,
    pooling: config.databasePooling,
  })
  try {
    const [durability] = await db.run(sql<{ synchronous: string }>`
      select current_setting('synchronous_commit') as synchronous`)
    const [clock] = await db.run(readClock())
    const offset = Math.round((clock?.now ?? 0) - Date.now())
    return [
      await examineWakeUps(config, db),
      durability?.synchronous === 'off'
        ? {
            check: 'durability',
            status: 'problem',
            text: 'synchronous_commit is off: acknowledged writes can be lost in a crash. Turn it on.',
          }
        : { check: 'durability', status: 'ok', text: `synchronous_commit is ${durability?.synchronous}` },
      {
        check: 'clock',
        status: Math.abs(offset) > 1_000 ? 'note' : 'ok',
        text: `${offset} ms from the clock of this machine (Belfry uses the database clock)`,
      },
    ]
  } finally {
    await db.close()
  }
}

async function examineWakeUps(config: Config, db: Database): Promise<Finding> {
  const check = 'wake-ups'
  const { databaseUrl, databasePooling, databaseDirectUrl, lookEveryMs } = config
  const listenUrl = databaseDirectUrl ?? (databasePooling === 'session' ? databaseUrl : null)
  if (listenUrl === null)
    return {
      check,
      status: 'note',
      text: `none without --database-direct-url: work from other nodes is found within ${lookEveryMs} ms`,
    }
  try {
    const hearing = await tryWakeUps(db, listenUrl)
    return hearing.kind === 'heard'
      ? { check, status: 'ok', text: `received at ${shownUrl(listenUrl)} after ${hearing.ms} ms` }
      : problem(check, describeFailure(hearing.error, listenUrl, '--database-direct-url'))
  } catch (error) {
    return problem(check, error)
  }
}

function attempt(check: string, work: () => string): Finding {
  try {
    return { check, status: 'ok', text: work() }
  } catch (error) {
    return problem(check, error)
  }
}

function problem(check: string, error: unknown): Finding {
  const { message, hint } = error as { message: string; hint?: string }
  return { check, status: 'problem', text: hint === undefined ? message : `${message} ${hint}` }
}

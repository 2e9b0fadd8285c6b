import { existsSync, statfsSync } from 'node:fs'
import type { Command } from 'commander'
import pc from 'picocolors'
import { findBinaries } from '../../embedded/binaries.ts'
import { defaultDataDir, readOwner } from '../../embedded/server.ts'
import type { Config } from '../../runtime/config.ts'
import { Database } from '../../store/database.ts'
import { readClock } from '../../store/nodes.ts'
import { sql } from '../../store/sql.ts'
import { addConfigFlags, configFrom } from '../config-flags.ts'
import { shownUrl } from '../database.ts'
import { EXIT } from '../exit.ts'
import { VERSION } from '../version.ts'

interface Finding {
  readonly check: string
  readonly status: 'ok' | 'note' | 'problem'
  readonly text: string
}

const LEAST_FREE_BYTES = 1024 ** 3

/** Looks at everything a start depends on, changes nothing, and says what to do about what it finds. */
export function doctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('Check this machine and its configuration, changing nothing')
    .option('--json', 'As JSON')
  addConfigFlags(command, ['port', 'host', 'dataDir', 'databaseUrl'])
  command.action(async (flags) => {
    const findings = await examine(configFrom(flags))
    if (flags.json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`)
    else
      for (const { check, status, text } of findings)
        process.stdout.write(`  ${SIGN[status]} ${check.padEnd(12)} ${text}\n`)
    if (findings.some(({ status }) => status === 'problem')) process.exitCode = EXIT.failed
  })
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
      text: 'root: the embedded database runs as an unprivileged user',
    })
  return [
    ...found,
    ...(config.databaseUrl === null ? examineEmbedded(config) : await examineExternal(config.databaseUrl)),
  ]
}

function examineEmbedded(config: Config): Finding[] {
  const dataDir = config.dataDir ?? defaultDataDir()
  const findings: Finding[] = [attempt('postgres', () => `embedded PostgreSQL ${findBinaries().version}`)]
  if (!existsSync(dataDir))
    return [
      ...findings,
      { check: 'data', status: 'ok', text: `${dataDir} (will be made by the first start)` },
    ]
  const owner = readOwner(dataDir)
  findings.push({ check: 'data', status: 'ok', text: dataDir })
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
    text: free < LEAST_FREE_BYTES ? `${text}: make room or use another --data-dir` : text,
  })
  return findings
}

async function examineExternal(url: string): Promise<Finding[]> {
  const db = new Database({
    url,
    applicationName: 'belfry doctor',
    maxConnections: 1,
    statementTimeoutMs: 5_000,
  })
  try {
    const [version] = await db.run(sql<{ version: string; synchronous: string }>`
      select current_setting('server_version') as version, current_setting('synchronous_commit') as synchronous`)
    const [clock] = await db.run(readClock())
    const offset = Math.round((clock?.now ?? 0) - Date.now())
    return [
      { check: 'database', status: 'ok', text: `PostgreSQL ${version?.version} at ${shownUrl(url)}` },
      version?.synchronous === 'off'
        ? {
            check: 'durability',
            status: 'problem',
            text: 'synchronous_commit is off: what was answered can be lost in a crash. Turn it on.',
          }
        : { check: 'durability', status: 'ok', text: `synchronous_commit is ${version?.synchronous}` },
      {
        check: 'clock',
        status: Math.abs(offset) > 1_000 ? 'note' : 'ok',
        text: `${offset} ms from this machine's (Belfry follows the database's)`,
      },
    ]
  } catch (error) {
    return [
      {
        check: 'database',
        status: 'problem',
        text: `${shownUrl(url)} cannot be used: ${error instanceof Error ? error.message || (error as { code?: string }).code : String(error)}`,
      },
    ]
  } finally {
    await db.close()
  }
}

function attempt(check: string, work: () => string): Finding {
  try {
    return { check, status: 'ok', text: work() }
  } catch (error) {
    const { message, hint } = error as { message: string; hint?: string }
    return { check, status: 'problem', text: hint === undefined ? message : `${message} ${hint}` }
  }
}

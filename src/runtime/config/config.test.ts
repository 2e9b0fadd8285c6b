import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from './config.ts'
import { PRESET_NAMES, PRESETS } from './presets.ts'
import { CADENCES, type ConfigKey, SETTINGS } from './settings.ts'
import type { ConfigSources } from './sources.ts'

const read = (sources: Partial<ConfigSources> = {}) =>
  readConfig({ flags: {}, env: {}, file: null, cwd: tmpdir(), ...sources })

function fileWith(content: string): { file: string; cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'belfry-config-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'belfry.toml'), content)
  return { file: 'belfry.toml', cwd }
}

test('everything has a default', () => {
  expect(read()).toMatchObject({
    host: '127.0.0.1',
    port: 3369,
    concurrency: 50,
    roles: ['api', 'scheduler', 'worker', 'liveness'],
  })
})

test('flags win over the environment, which wins over the file', () => {
  const file = fileWith('port = 1\nconcurrency = 2\nlog_level = "warn"')
  const config = read({ ...file, env: { BELFRY_PORT: '3', BELFRY_CONCURRENCY: '4' }, flags: { port: '5' } })

  expect(config).toMatchObject({ port: 5, concurrency: 4, logLevel: 'warn' })
})

test('an invalid value is refused with its name, the value and what is allowed', () => {
  expect(() => read({ flags: { port: '70000' } })).toThrow(
    "--port is '70000'; it must be a whole number from 0 to 65535.",
  )
  expect(() => read({ env: { BELFRY_ROLES: 'api,cook' } })).toThrow(
    "BELFRY_ROLES is 'api,cook'; it contains 'cook'; the roles are api",
  )
  expect(() => read(fileWith('port = "high"'))).toThrow("port in belfry.toml is 'high'")
})

test('for an unknown key the nearest setting is suggested', () => {
  expect(() => read({ env: { BELFRY_PROT: '1' } })).toThrow(
    'Unknown environment variable BELFRY_PROT. Did you mean BELFRY_PORT?',
  )
  expect(() => read(fileWith('databaseurl = "x"'))).toThrow(
    "'databaseurl' is not a setting. Did you mean 'database_url'?",
  )
})

test('a database address is never repeated, because it may hold a password', () => {
  for (const url of ['', 'secret', 'mysql://u:secret@h/d', 'postgresql://u:se%cret@h/d']) {
    for (const name of ['BELFRY_DATABASE_URL', 'BELFRY_DATABASE_DIRECT_URL'])
      expect(() => read({ env: { [name]: url } })).toThrow(
        `${name} is '…'; it must have the form postgresql://user@host/belfry.`,
      )
  }
})

test('a database may be reached through a local socket', () => {
  const databaseUrl = 'postgresql://u:p%40ss@/belfry?host=%2Frun%2Fpostgresql'

  expect(read({ flags: { databaseUrl } }).databaseUrl).toBe(databaseUrl)
})

test('variables that Kubernetes sets for a service named belfry are not settings', () => {
  const env = {
    BELFRY_SERVICE_HOST: '10.0.0.1',
    BELFRY_SERVICE_PORT_HTTP: '3369',
    BELFRY_PORT: 'tcp://10.0.0.1:3369',
    BELFRY_PORT_3369_TCP_ADDR: '10.0.0.1',
    BELFRY_API_PORT: 'tcp://10.0.0.1:3369',
  }

  expect(read({ env }).port).toBe(3369)
})

test('a configuration file that was named must exist', () => {
  expect(() => read({ file: 'missing.toml' })).toThrow('Cannot read the configuration file missing.toml')
})

test('settings that cannot work together are refused with what would be right', () => {
  const refused = (flags: ConfigSources['flags']) => expect(() => read({ flags }))

  refused({ heartbeatMs: 6_000 }).toThrow(
    '--lease-ms is 15000; it must be at least 3 times --heartbeat-ms, which is 18000: the lease must be longer',
  )
  refused({ leaseMs: 3_000, heartbeatMs: 1_000, reaperMs: 4_000 }).toThrow(
    '--lease-ms is 3000; it must be at least --reaper-ms, which is 4000',
  )
  refused({ shardTakeoverMs: 2_999 }).toThrow('--shard-takeover-ms is 2999; it must be at least 3 times')
  refused({ lookEveryMs: 6_000 }).toThrow('--look-ahead-ms is 10000; it must be at least 2 times')
})

test('a node without wake-ups polls often by default', () => {
  const pooled = { databaseUrl: 'postgresql://pooler/belfry', databasePooling: 'transaction' }
  const direct = { ...pooled, databaseDirectUrl: 'postgresql://server/belfry' }

  expect(read({ flags: pooled })).toMatchObject({ lookEveryMs: 200, claimEveryMs: 200 })
  expect(read({ flags: { ...pooled, lookEveryMs: 700 } })).toMatchObject({
    lookEveryMs: 700,
    claimEveryMs: 200,
  })
  expect(read({ flags: direct })).toMatchObject({ lookEveryMs: 1_000, claimEveryMs: 1_000 })
})

test('a pooler in front of the embedded database is refused', () => {
  expect(() => read({ flags: { databasePooling: 'transaction' } })).toThrow(
    '--database-pooling is transaction without --database-url, but the embedded database has no pooler',
  )
  expect(() => read({ env: { BELFRY_DATABASE_DIRECT_URL: 'postgresql://server/belfry' } })).toThrow(
    '--database-direct-url is given without --database-url',
  )
})

test('a preset changes defaults, and what is set wins over it', () => {
  const file = fileWith('preset = "small-batches"\nlease_ms = 35000')

  expect(read(file)).toMatchObject({
    preset: 'small-batches',
    leaseMs: 35_000,
    fireBatch: 20,
    heartbeatMs: 5_000,
  })
  expect(read({ ...file, flags: { preset: 'minute-cron' } })).toMatchObject({
    heartbeatMs: 10_000,
    leaseMs: 35_000,
  })
})

test('an unknown preset is refused, and the known presets are listed', () => {
  expect(() => read({ flags: { preset: 's3' } })).toThrow(
    "--preset is 's3'; it must be one of default, batch-windows, minute-cron, frequent-scan, small-batches.",
  )
})

test.each(PRESET_NAMES)(
  'preset %s is within the allowed ranges, contradicts nothing and chooses cadences only',
  (preset) => {
    const config = read({ flags: { preset } })

    const chosen = Object.entries(PRESETS[preset]) as [ConfigKey, number][]
    for (const [key, value] of chosen) {
      expect(CADENCES).toContain(key)
      expect(SETTINGS[key].parse(value)).toBe(value)
      expect(config[key]).toBe(value)
    }
  },
)

test('an error names the preset that a setting contradicts', () => {
  expect(() => read({ flags: { preset: 'minute-cron', leaseMs: 20_000 } })).toThrow(
    '--lease-ms is 20000; it must be at least 3 times --heartbeat-ms (--preset minute-cron), which is 30000',
  )
})

test('a preset does not slow down the polling of a node without wake-ups', () => {
  const flags = {
    preset: 'batch-windows',
    databaseUrl: 'postgresql://pooler/belfry',
    databasePooling: 'transaction',
  }

  expect(read({ flags })).toMatchObject({ lookEveryMs: 200, claimEveryMs: 200, lookAheadMs: 1_200_000 })
})

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://',
  'smtp://mail.example.com/path',
  'smtp://a:%zz@mail.example.com',
  'smtp://mail.example.com?tls=no',
])('%s is no mail server, and is not repeated', (smtpUrl) => {
  const read = () => readConfig({ flags: { smtpUrl }, env: {}, file: null, cwd: '/' })

  expect(read).toThrow(/^--smtp-url is '…'; it must have the form smtp:/)
})

test('a sender is one address', () => {
  const read = (smtpFrom: string) => readConfig({ flags: { smtpFrom }, env: {}, file: null, cwd: '/' })

  expect(read('Belfry <belfry@example.com>').smtpFrom).toBe('Belfry <belfry@example.com>')
  expect(() => read('nobody')).toThrow("--smtp-from is 'nobody'; it must be one address")
})

test('allowed origins are written as browsers write them', () => {
  const origins = ['https://belfry.example.com', 'http://belfry.internal:8080']

  expect(read({ flags: { allowedOrigins: origins.join(', ') } }).allowedOrigins).toEqual(origins)
  expect(read(fileWith(`allowed_origins = ["${origins[0]}"]`)).allowedOrigins).toEqual([origins[0]])
  for (const bad of [
    '*',
    'null',
    'belfry.example.com',
    'https://belfry.example.com/',
    'https://x:443',
    'ftp://x',
  ])
    expect(() => read({ flags: { allowedOrigins: bad } }), bad).toThrow(
      `--allowed-origins is '${bad}'; it must be a list of origins without a path, such as https://belfry.example.com.`,
    )
})

test.each([
  ['postgresql://belfry:pa/ss@db/belfry', "contains '/' in its user name or password; write it as %2F"],
  ['postgresql://belfry:pa?ss@db/belfry', "contains '?' in its user name or password; write it as %3F"],
  ['postgresql://belfry:pa@ss@db/belfry', "contains '@' in its user name or password; write it as %40"],
])(
  'an unescaped character in a password is refused, and the error shows its escaped form',
  (databaseUrl, reason) => {
    expect(() => read({ flags: { databaseUrl } })).toThrow(`--database-url is '…'; it ${reason}.`)
  },
)

test('a colon in a password is part of it', () => {
  const databaseUrl = 'postgresql://belfry:pa:ss@db/belfry'

  expect(read({ flags: { databaseUrl } }).databaseUrl).toBe(databaseUrl)
})

test('a secret setting can be read from a file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'secret-')), 'url')
  writeFileSync(file, 'postgresql://belfry:secret@db/belfry\n')

  expect(read({ env: { BELFRY_DATABASE_URL_FILE: file } }).databaseUrl).toBe(
    'postgresql://belfry:secret@db/belfry',
  )
  expect(() => read({ env: { BELFRY_DATABASE_URL_FILE: `${file}.none` } })).toThrow(
    `Cannot read the file '${file}.none' that BELFRY_DATABASE_URL_FILE names`,
  )
  expect(() => read({ env: { BELFRY_PORT_FILE: file } })).toThrow(
    'Unknown environment variable BELFRY_PORT_FILE',
  )
})

test('the port of a node without the api role is a free one unless it is given', () => {
  expect(read({ flags: { roles: 'worker' } }).port).toBe(0)
  expect(read({ flags: { roles: 'worker', port: 4000 } }).port).toBe(4000)
  expect(read({ flags: { roles: 'api,worker' } }).port).toBe(3369)
})

const PROVIDER = {
  oidcIssuer: 'https://login.example.com',
  oidcClientId: 'belfry',
  publicUrl: 'https://belfry.example.com',
}

test.each<[string, Record<string, unknown>, string]>([
  ['no client id', { oidcClientId: undefined }, '--oidc-issuer is given without --oidc-client-id'],
  ['no address', { publicUrl: undefined }, '--oidc-issuer is given without --public-url'],
  ['no issuer', { oidcIssuer: undefined }, '--oidc-client-id is given without --oidc-issuer.'],
  ['plain HTTP', { oidcIssuer: 'http://login.example.com' }, 'must begin with https://'],
  ['a query', { oidcIssuer: 'https://login.example.com/?a=1' }, 'must be the address of an issuer'],
  ['a password', { oidcIssuer: 'https://u:p@login.example.com' }, 'must not contain a user or a password'],
  ['no openid', { oidcScopes: 'profile,email' }, 'must contain openid'],
  ['no scope', { oidcScopes: 'openid,"x"' }, 'must be a list of scopes'],
])('a provider with %s is refused in a sentence', (_, change, reason) => {
  expect(() => read({ flags: { ...PROVIDER, ...change } })).toThrow(reason)
})

test('a provider is https, or on this machine, and its secret is never repeated', () => {
  expect(read({ flags: PROVIDER })).toMatchObject({ oidcScopes: ['openid', 'profile', 'email'] })
  expect(read({ flags: { ...PROVIDER, oidcIssuer: 'http://127.0.0.1:4000' } }).oidcIssuer).toContain('4000')
  expect(() => read({ flags: { ...PROVIDER, oidcClientSecret: 7_345 } })).toThrow(
    "--oidc-client-secret is '…'",
  )
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MISFIRE_POLICIES, OVERLAP_POLICIES } from '../../src/core/task/task.ts'
import { aDirectory, MAIN, runBelfry } from '../support/process.ts'

const BIN = fileURLToPath(new URL('../../bin/belfry.cjs', import.meta.url))
const HELPS = fileURLToPath(new URL('./helps.mjs', import.meta.url))
const ESCAPE = String.fromCharCode(27)
const linesOf = (text: string) => text.trimEnd().split('\n').length

test('help fits one screen and names the main commands', async () => {
  const { code, stdout, stderr, tookMs } = await runBelfry(['--help'])

  expect(code).toBe(0)
  expect(stderr).toBe('')
  for (const word of ['start', 'doctor', 'task create', 'run', 'migrate', 'version', '/docs', 'Exit codes'])
    expect(stdout).toContain(word)
  expect(linesOf(stdout)).toBeGreaterThanOrEqual(20)
  expect(linesOf(stdout)).toBeLessThanOrEqual(48)
  process.stdout.write(`  belfry --help took ${tookMs} ms\n`)
})

test('belfry without a command prints help', async () => {
  const { code, stdout } = await runBelfry([])

  expect(code).toBe(0)
  expect(stdout).toBe((await runBelfry(['help'])).stdout)
})

test('start, migrate, doctor and version have help that fits one screen', async () => {
  for (const command of ['start', 'migrate', 'doctor', 'version']) {
    const { code, stdout } = await runBelfry([command, '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`Usage: belfry ${command}`)
    expect(linesOf(stdout)).toBeLessThanOrEqual(48)
  }
  const { stdout } = await runBelfry(['start', '--help'])
  for (const word of [
    '--port',
    '3369',
    '--database-url',
    '--roles',
    'BELFRY_DATA_DIR',
    'belfry.toml',
    'Examples',
  ])
    expect(stdout).toContain(word)
})

test('the help of every client command shows its usage and --json, in at most 68 lines', async () => {
  const commands = [
    ...[
      'list',
      'show',
      'why',
      'ledger',
      'create',
      'edit',
      'pause',
      'resume',
      'skip-next',
      'run',
      'backfill',
      'versions',
      'diff',
      'rollback',
      'cancel',
      'delete',
    ].map((verb) => ['task', verb]),
    ...['list', 'show', 'logs', 'cancel', 'retry'].map((verb) => ['run', verb]),
    ...['list', 'redrive', 'dismiss'].map((verb) => ['dead-letter', verb]),
    ...['list', 'create', 'test', 'resume', 'remove'].map((verb) => ['subscription', verb]),
    ...['list', 'add', 'remove'].map((verb) => ['blackout', verb]),
    ...['create', 'list', 'show', 'edit', 'archive', 'restore'].map((verb) => ['project', verb]),
    ...['create', 'list', 'show', 'rotate', 'revoke'].map((verb) => ['key', verb]),
    ...['list', 'show', 'pause', 'resume', 'limit'].map((verb) => ['queue', verb]),
    ...['list', 'show', 'pause', 'resume', 'limit'].map((verb) => ['target', verb]),
    ...['list', 'create', 'rotate', 'revoke'].map((verb) => ['signing-secret', verb]),
    ...[
      ['schedule', 'preview'],
      ['node', 'list'],
      ['worker', 'list'],
    ],
    ['events'],
    ['import', 'crontab'],
    ['run-on-schedule'],
  ]
  const [said, one, group, alias] = await Promise.all([
    runBelfry([MAIN, JSON.stringify(commands)], { program: HELPS }),
    runBelfry(['task', 'list', '--help']),
    runBelfry(['task']),
    runBelfry(['runs']),
  ])
  const parts = said.stdout.split('\0')
  const helps = commands.map((words, i) => ({
    ...{ words, stdout: parts[2 * i] ?? '', code: Number(parts[2 * i + 1]) },
  }))

  for (const { words, code, stdout } of helps) {
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^Usage: belfry ${words.join(' ')}`))
    expect(stdout).toContain('--json')
    expect(linesOf(stdout)).toBeLessThanOrEqual(68)
  }
  expect(one).toMatchObject({ code: 0, stdout: helps[0]?.stdout })
  expect(group.stdout).toContain('belfry task create hello --every 10s --action sleep:1s')
  expect(alias.stdout).toContain('belfry run list --state permanently_failed')
  const create = helps.find(({ words }) => words[1] === 'create')?.stdout ?? ''
  expect(create.indexOf('Examples:')).toBeLessThan(create.indexOf('--action <what>'))
  for (const policy of [...OVERLAP_POLICIES, ...MISFIRE_POLICIES]) expect(create).toContain(policy)
})

test('version prints the version, and with --json also the versions of Node.js and time zone data', async () => {
  const plain = await runBelfry(['version'])
  const json = await runBelfry(['version', '--json'])

  expect(plain).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+(-\w+)?\+[0-9a-f]{8}\n$/),
  })
  expect(JSON.parse(json.stdout)).toEqual({
    belfry: plain.stdout.trim(),
    node: process.versions.node,
    timeZoneData: process.versions['tz'] ?? null,
  })
  expect((await runBelfry(['--version'])).stdout).toBe(plain.stdout)
  process.stdout.write(`  belfry version took ${plain.tookMs} ms\n`)
})

test.each([
  [['strat'], "Unknown command 'strat'. Did you mean 'start'?", 'belfry --help'],
  [['strat', '--help'], "Unknown command 'strat'. Did you mean 'start'?", 'belfry --help'],
  [
    ['backfill', '-h'],
    "Unknown command 'backfill'. Did you mean 'belfry task backfill'?",
    'belfry task backfill --help',
  ],
  [['start', '--prot', '1'], "Unknown option '--prot'. Did you mean '--port'?", 'belfry start --help'],
  [['--nonsense'], "Unknown option '--nonsense'.", 'belfry --help'],
  [['start', '--port'], '--port needs a value, <n>.', 'belfry start --help'],
  [
    ['start', 'now'],
    "Too many arguments for 'start'. Expected 0 arguments but got 1.",
    'belfry start --help',
  ],
  [['start', '--port', '70000'], "--port is '70000'; it must be a whole number from 0 to 65535.", ''],
  [['start', '--port', '-1'], "--port is '-1'; it must be a whole number from 0 to 65535.", ''],
  [['start', '--roles', 'api,cook'], "--roles is 'api,cook'; it contains 'cook'; the roles are api,", ''],
  [['start', '--log-level', 'loud'], "--log-level is 'loud'; it must be one of trace,", ''],
  [
    ['start', '--database-url', 'mysql://u:hunter2@h/d'],
    "--database-url is '…'; it must have the form postgresql://",
    '',
  ],
  [['start', '--config', '/nowhere.toml'], 'Cannot read the configuration file /nowhere.toml', ''],
])('%j is refused with the error, a hint and exit code 2', async (args, message, hint) => {
  const { code, stdout, stderr } = await runBelfry(args)

  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).toContain(`error: ${message}`)
  expect(stderr).toContain(`try:   ${hint}`)
  expect(stderr).not.toContain('hunter2')
  expect(linesOf(stderr)).toBe(2)
})

test('piped output has no colours, and NO_COLOR overrides FORCE_COLOR', async () => {
  const coloured = await runBelfry(['strat'], { env: { FORCE_COLOR: '1' } })
  const plain = await runBelfry(['strat'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })
  const piped = await runBelfry(['strat'])

  expect(coloured.stderr).toContain(ESCAPE)
  expect(plain.stderr).not.toContain(ESCAPE)
  expect(piped.stderr).toBe(plain.stderr)
})

test('an outdated Node.js is refused with the version that is needed', async () => {
  const preload = join(aDirectory(), 'old-node.cjs')
  writeFileSync(
    preload,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })",
  )

  const { code, stdout, stderr } = await runBelfry(['start'], { program: BIN, nodeArgs: ['-r', preload] })

  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: 'Belfry needs Node 20.19 or newer; this is 18.20. Install: https://nodejs.org\n',
  })
})

test('the installed command is the built program', async () => {
  const { code, stdout } = await runBelfry(['version'], { program: BIN })

  expect({ code, stdout }).toEqual({ code: 0, stdout: (await runBelfry(['version'])).stdout })
})

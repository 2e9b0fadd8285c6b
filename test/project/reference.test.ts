/** The reference pages and the code name the same things: nothing is missing, nothing is made up. */
import { expect, test } from 'vitest'
import { LIST_LIMIT } from '../../src/api/compatible/tasks-routes.ts'
import { TASK_FLAGS } from '../../src/cli/client/task-flags.ts'
import { EXIT } from '../../src/cli/exit.ts'
import { ACTION_TYPES } from '../../src/core/action/action.ts'
import { AUDIT_ACTIONS } from '../../src/core/audit-log/audit-action.ts'
import { REFUSALS } from '../../src/core/errors.ts'
import { FINDING_KINDS } from '../../src/core/ledger/finding.ts'
import { LEDGER_STATES } from '../../src/core/ledger/ledger.ts'
import { RUN_STATES, SKIP_REASONS } from '../../src/core/run/run.ts'
import { OVERRIDABLE } from '../../src/core/run/run-override.ts'
import { FOLD_POLICIES, GAP_POLICIES } from '../../src/core/schedule/daylight-saving.ts'
import { MAX_COUNTED } from '../../src/core/schedule/occurrences.ts'
import { SCHEDULE_TYPES } from '../../src/core/schedule/schedule.ts'
import type { Setting } from '../../src/core/task/field-kinds.ts'
import { defaultOf, FIELD_LIST, membersOf } from '../../src/core/task/field-list.ts'
import { MISFIRE_POLICIES, OVERLAP_POLICIES, TASK_STATES } from '../../src/core/task/task.ts'
import { MAX_WAITING_COUNTED } from '../../src/core/values/counted.ts'
import { WHY_CODES } from '../../src/core/why/why.ts'
import { mostConnections } from '../../src/node/connections.ts'
import { MAX_TASKS_COUNTED } from '../../src/operations/overview/stats.ts'
import { HTTP_FAILURE_CODES } from '../../src/outgoing/http-failure.ts'
import type { Role } from '../../src/runtime/config/choices.ts'
import { PRESET_NAMES, PRESETS } from '../../src/runtime/config/presets.ts'
import {
  CONFIG_KEYS,
  type ConfigKey,
  flagOf,
  SETTINGS,
  variableOf,
} from '../../src/runtime/config/settings.ts'
import { taskFieldsPage } from './task-fields-page.ts'
import { read, SOURCES } from './tree.ts'

/** A page from a heading to the next one of its rank or higher. */
function section(path: string, heading: string): string {
  const lines = read(path).split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`${path} has no heading "${heading}"`)
  const rank = heading.indexOf(' ')
  const end = lines.findIndex((line, i) => i > start && /^#+ /.test(line) && line.indexOf(' ') <= rank)
  return lines.slice(start, end < 0 ? undefined : end).join('\n')
}

/** Cells of the tables in a text, row by row, without the heads. */
function rows(text: string): string[][] {
  const table = text.split('\n').filter((line) => line.startsWith('|'))
  const cells = table.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  return cells.filter((_, i) => !isRule(cells[i]) && !isRule(cells[i + 1]))
}

const isRule = (row: readonly string[] | undefined) => row?.every((cell) => /^:?-+:?$/.test(cell)) ?? false
const firstCells = (text: string) => rows(text).map(([cell = '']) => cell.replaceAll('`', ''))
/** A number as the pages write it. */
const grouped = (count: number) => count.toLocaleString('en').replaceAll(',', ' ')
const ERRORS = 'docs/reference/errors.md'
const STATES = 'docs/reference/states.md'

test('every refusal has a section with its status', () => {
  const sections = section(ERRORS, '## Refusals').matchAll(/^### `(\w+)`\n\n\*\*(\d+)/gm)

  expect(Object.fromEntries([...sections].map(([, code, status]) => [code, Number(status)]))).toEqual(
    Object.fromEntries(Object.entries(REFUSALS).map(([code, { status }]) => [code, status])),
  )
})

test('every code of a failed attempt is explained', () => {
  const explained = firstCells(section(ERRORS, '## Failed attempts'))
  const sources = SOURCES.map(read).join('\n')

  expect(explained).toEqual(expect.arrayContaining([...HTTP_FAILURE_CODES]))
  for (const code of explained) expect(sources, `${code} is a code`).toContain(`'${code}'`)
})

test('every setting is listed with its flag, variable, key and default', () => {
  const listed = rows(read('docs/reference/configuration.md'))
    .filter(([flag = '']) => flag.startsWith('`--'))
    .map(([flag, variable, key, fallback]) => ({ flag, variable, key, fallback }))

  const expected = CONFIG_KEYS.map((key) => ({
    flag: `\`${flagOf(key)}\``,
    variable: `\`${variableOf(key)}\``,
    key: `\`${flagOf(key).slice(2).replaceAll('-', '_')}\``,
    fallback:
      SETTINGS[key].default === null || String(SETTINGS[key].default) === ''
        ? expect.stringMatching(/^(none|see below)$/)
        : `\`${SETTINGS[key].default}\``,
  }))
  expect(listed).toHaveLength(expected.length)
  expect(listed).toEqual(expect.arrayContaining(expected))
})

test('every preset is explained, setting by setting', () => {
  const told = PRESET_NAMES.filter((name) => name !== 'default').map((name) => {
    const table = rows(section('docs/reference/presets.md', `## ${name}`))
    return [name, Object.fromEntries(table.map(([setting, value]) => [setting, value]))]
  })

  const set = Object.entries(PRESETS).map(([name, preset]) => [
    name,
    Object.fromEntries(
      Object.entries(preset).map(([key, value]) => [
        `\`${flagOf(key as ConfigKey).slice(2)}\``,
        `\`${value}\``,
      ]),
    ),
  ])
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(set.filter(([name]) => name !== 'default')))
})

test('every why code is explained', () => {
  expect(firstCells(section('docs/reference/why.md', '## Codes'))).toEqual([...WHY_CODES])
})

test('every state of a ledger and every finding of the audit is explained', () => {
  expect(firstCells(section('docs/reference/ledger.md', '## States of an occurrence'))).toEqual([
    ...LEDGER_STATES,
  ])
  expect(firstCells(section('docs/reference/ledger.md', '## The audit'))).toEqual([...FINDING_KINDS])
})

test('every exit code is explained', () => {
  const explained = rows(read('docs/reference/exit-codes.md')).map(([code, name]) => [name, code])

  expect(Object.fromEntries(explained)).toEqual(
    Object.fromEntries(Object.entries(EXIT).map(([name, code]) => [`\`${name}\``, `\`${code}\``])),
  )
})

/** `npm run reference` writes it anew. */
test('the page of task fields matches the declaration', async () => {
  await expect(taskFieldsPage()).toMatchFileSnapshot('../../docs/reference/tasks.md')
})

test('every flag of a task is explained', () => {
  const explained = firstCells(section('docs/reference/commands.md', '## A task in flags'))

  expect(explained.filter((cell) => cell.startsWith('--'))).toEqual(TASK_FLAGS)
})

test('every state of tasks and runs and every reason for a skip is explained', () => {
  const sorted = (names: readonly string[]) => [...names].sort()

  expect(sorted(firstCells(section(STATES, '## Tasks')))).toEqual(sorted(TASK_STATES))
  expect(sorted(firstCells(section(STATES, '### Skip reasons')))).toEqual(sorted(SKIP_REASONS))
  expect(sorted(firstCells(section(STATES, '## Runs')))).toEqual(sorted([...RUN_STATES, ...SKIP_REASONS]))
})

test('every outcome of an attempt is explained', () => {
  const [, union = ''] = /export type AttemptOutcome = (.*)/.exec(read('src/core/run/run.ts')) ?? []
  const outcomes = [...union.matchAll(/'(\w+)'/g)].map(([, name]) => name)

  expect(outcomes).not.toEqual([])
  expect(firstCells(section(STATES, '## Attempts')).sort()).toEqual(outcomes.sort())
})

test('the fields of an action that a trigger can override are listed for every action', () => {
  const listed = rows(section('docs/reference/triggers.md', '### Action fields')).map(
    ([type = '', fields = '']) => [
      type.replaceAll('`', ''),
      [...fields.matchAll(/`(\w+)`/g)].map(([, field]) => field),
    ],
  )

  expect(Object.fromEntries(listed)).toEqual(OVERRIDABLE)
})

test('every kind of schedule and every policy is explained', () => {
  const page = read('docs/reference/schedules.md')
  const kinds = [...section('docs/reference/schedules.md', '## Kinds').matchAll(/^### (\w+)$/gm)]

  expect(kinds.map(([, kind]) => kind)).toEqual([...SCHEDULE_TYPES])
  for (const choice of [...GAP_POLICIES, ...FOLD_POLICIES]) expect(page).toContain(`\`${choice}\``)
  const policies = read('docs/reference/policies.md')
  for (const policy of [...OVERLAP_POLICIES, ...MISFIRE_POLICIES]) expect(policies).toContain(`\`${policy}\``)
})

test('the compatible interface is documented with its states and its page size', () => {
  const page = read('docs/reference/compatibility.md')
  const states = new Set(
    rows(section('docs/reference/compatibility.md', '## Statuses')).map(([, state]) => state),
  )

  expect([...states].sort()).toEqual(TASK_STATES.map((state) => `\`${state}\``).sort())
  expect(page).toContain(`in pages of ${grouped(LIST_LIMIT)}`)
})

test('the pages name the limits up to which things are counted', () => {
  const upTo = (limit: number) => `counted up to ${grouped(limit)}`

  expect(read('docs/reference/queues.md')).toContain(
    `the number of waiting runs, ${upTo(MAX_WAITING_COUNTED)}`,
  )
  expect(read('docs/reference/targets.md')).toContain(`waiting for the target, ${upTo(MAX_WAITING_COUNTED)}`)
  expect(read('docs/reference/overview.md')).toContain(`the number of tasks, ${upTo(MAX_TASKS_COUNTED)}`)
  expect(read(STATES)).toContain(`The count is null if there are more than ${grouped(MAX_COUNTED)}`)
})

test('every action is explained', () => {
  const headings = [...read('docs/reference/actions.md').matchAll(/^## ([a-z]+)$/gm)]

  expect(headings.map(([, type]) => type).sort()).toEqual([...ACTION_TYPES].sort())
})

test('the README lists every schedule and action, and no other', () => {
  const listed = firstCells(section('README.md', '## Features'))

  expect(listed.sort()).toEqual([...SCHEDULE_TYPES, ...ACTION_TYPES].sort())
})

test('the page on pooling says how many connections a node with given roles opens', () => {
  const said = rows(section('docs/operating/pooling.md', '## How many connections a node needs'))
    .filter((row) => row.length === 2)
    .map(([roles = '', count]) => ({ roles: roles.replaceAll('`', '').split(', ') as Role[], count }))

  expect(said.length).toBeGreaterThan(0)
  for (const { roles, count } of said)
    expect(`${roles}: ${mostConnections({ roles, databaseConnections: 30 }, { isExternal: true })}`).toBe(
      `${roles}: ${count}`,
    )
})

test('every action of the audit log is in its table', () => {
  expect(firstCells(section('docs/reference/audit-log.md', '## Actions'))).toEqual([...AUDIT_ACTIONS])
})

/** The declared fields of a task and their members, by the names that the pages use. */
const DECLARED = new Map<string, Setting>(
  FIELD_LIST.flatMap((field) => [
    [field.name, field] as const,
    ...membersOf(field).map(([member, setting]) => [`${field.name}.${member}`, setting] as const),
  ]),
)

/** The defaults as a table may write them. */
function defaultsOf(setting: Setting): string[] {
  const value = defaultOf(setting)
  return value === null ? ['none', 'see below'] : [JSON.stringify(value), String(value)]
}

/** The bounds of a number or a duration as the pages write them; null for any other field. */
function boundsOf({ kind }: Setting): readonly string[] | null {
  if (kind.type === 'duration') return [kind.min, kind.max]
  return kind.type === 'integer' || kind.type === 'number' ? [grouped(kind.min), grouped(kind.max)] : null
}

/** The bounds in a row of a table, such as `0s–1d` or `from 1s to 366d`; none if it gives none. */
const boundsIn = (cells: readonly string[]): readonly string[] =>
  cells.flatMap((cell) => (/^(\S+)–(.+)$/.exec(cell) ?? /\bfrom (.+?) to ([^.;]+)/.exec(cell) ?? []).slice(1))

test.each([
  ['docs/reference/policies.md', '## Retries'],
  ['docs/reference/policies.md', '## Misfires'],
  ['docs/reference/queues.md', '# Queues, priorities and labels'],
])('the table of fields in %s, %s, has the declared defaults and ranges', (path, heading) => {
  const table = rows(section(path, heading)).filter(([cell = '']) => DECLARED.has(cell.replaceAll('`', '')))

  for (const row of table) {
    const [name = '', ...cells] = row.map((cell) => cell.replaceAll('`', ''))
    const setting = DECLARED.get(name) as Setting
    expect(cells.slice(0, 2), name).toContainEqual(expect.toBeOneOf(defaultsOf(setting)))
    const stated = boundsIn(cells)
    if (stated.length > 0) expect(stated, name).toEqual(boundsOf(setting))
  }
  expect(table.length).toBeGreaterThan(2)
})

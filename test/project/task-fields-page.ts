/** docs/reference/tasks.md, written from the declaration of the fields. */
import type { Kind, Setting, TaskField } from '../../src/core/task/field-kinds.ts'
import { defaultOf, FIELD_LIST, membersOf, type NamedField } from '../../src/core/task/field-list.ts'

const OPENING = `# Task fields

A task is a JSON object with the fields below. Only \`action\` is required, and unknown fields are refused.

- \`POST /v1/tasks\` creates a task. A field that the request leaves out gets its default.
- \`PUT /v1/tasks/by-key/{key}\` creates or replaces a task. A field that the request leaves out returns to its default.
- \`PATCH /v1/tasks/{id}\` changes the fields that the request contains. Members of an object are changed one by one.
- \`paused: true\` creates the task [paused](policies.md#pausing). It is part of the request and not a field of the task: replacing a task
  does not change whether it is paused, and edits refuse it.

Fields that can be null are null by default. On the [command line](commands.md#a-task-in-flags), \`--set field=json\` sets
fields that have no flag. Durations are written like \`500ms\`, \`30s\`, \`5m\`, \`1h30m\` or \`2d\`, instants as RFC 3339.

This page is generated from \`src/core/task/fields.ts\` by \`npm run reference\`.
`

const HEADINGS: Readonly<Record<TaskField['about'], string>> = {
  identity: 'Identity',
  what: 'Action',
  when: 'Schedule',
  trouble: 'Failures, overlaps and outages',
  where: 'Queues, workers and metadata',
}

const HEAD = ['Field', 'Value', 'Default', 'Flag', 'Description']

type Row = readonly string[]

/** The whole page. */
export function taskFieldsPage(): string {
  const sections = Object.entries(HEADINGS).map(([about, heading]) => {
    const rows = FIELD_LIST.filter((field) => field.about === about).flatMap(rowsOf)
    return `\n## ${heading}\n\n${table([HEAD, ...rows])}\n`
  })
  return [OPENING, ...sections].join('')
}

function rowsOf(field: NamedField): Row[] {
  const name = field.page === undefined ? code(field.name) : `[${code(field.name)}](${field.page})`
  const members = membersOf(field).map(([member, setting]) => rowOf(code(`${field.name}.${member}`), setting))
  return [rowOf(name, field), ...members]
}

const rowOf = (name: string, setting: Setting): Row => [
  name,
  valueWords(setting.kind) + (setting.isNullable ? ', or null' : ''),
  defaultWords(setting),
  setting.flag === undefined ? '' : code(setting.flag.name),
  setting.doc,
]

function valueWords(kind: Kind): string {
  switch (kind.type) {
    case 'text':
      return `text, up to ${kind.max} characters`
    case 'pattern':
      return kind.rule.replace('must be ', '')
    case 'duration':
      return `duration, ${code(kind.min)} to ${code(kind.max)}`
    case 'instant':
      return 'instant'
    case 'rate':
      return 'rate such as `10/s`, `100/m` or `1000/h`, up to `1000/s`'
    case 'integer':
      return `integer, ${grouped(kind.min)} to ${grouped(kind.max)}`
    case 'number':
      return `number, ${grouped(kind.min)} to ${grouped(kind.max)}`
    case 'choice':
      return kind.of.map(code).join(', ')
    case 'boolean':
      return '`true`, `false`'
    case 'list':
      return `list of up to ${kind.items} texts of up to ${kind.max} characters`
    case 'json':
      return `object, up to ${grouped(kind.max)} characters as JSON`
    case 'object':
    case 'action':
      return 'object'
    case 'schedule':
      return 'object, list of objects, or words'
  }
}

function defaultWords(setting: Setting): string {
  if (setting.isNullable || setting.kind.type === 'object') return ''
  if (setting.kind.type === 'action') return 'required'
  const fallback = defaultOf(setting)
  return fallback === undefined
    ? ''
    : code(typeof fallback === 'string' ? fallback : JSON.stringify(fallback))
}

const code = (text: string) => `\`${text}\``
const grouped = (value: number) => value.toLocaleString('en').replaceAll(',', ' ')

/** Columns as wide as their widest cell. */
/** A table as the formatter writes it. */
export function table([head, ...body]: readonly [Row, ...Row[]]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((row) => row[column]?.length ?? 0)))
  const line = (row: Row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}

/** A field of a task is named where it is declared and where its value is used; what only passes fields on names none. */
import { expect, test } from 'vitest'
import { FIELD_LIST } from '../../src/core/task/field-list.ts'
import { FILES, read } from './tree.ts'

const DECLARATION = 'src/core/task/fields.ts'

/** Names of settings. Those of identity, action and schedule are words of many other things too. */
const NAMES = FIELD_LIST.filter(
  ({ name, about }) => about !== 'identity' && name !== 'action' && name !== 'schedule',
).map(({ name }) => name)

const withoutComments = (text: string) => text.replace(/\/\*.*?\*\//gs, '').replace(/\/\/ .*/g, '')
const namedIn = (path: string) =>
  NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(withoutComments(read(path))))

/** What passes fields on, and the fields that it treats in a way of their own. */
const PASSING: Readonly<Record<string, readonly string[]>> = {
  'src/core/task/field-list.ts': [],
  'src/core/task/task-input.ts': [],
  'src/api/resources/tasks/field-schemas.ts': [],
  'src/api/resources/tasks/present.ts': [],
  'src/api/resources/versions/schemas.ts': [],
  'src/operations/tasks/create-task.ts': [],
  'src/operations/tasks/defined-fields.ts': ['labels'],
  'src/operations/tasks/upsert-task.ts': ['startAt'],
  'src/operations/tasks/rollback-task.ts': [],
  'src/store/tasks/stored-definition.ts': ['metadata'],
  // An example in a sentence.
  'src/cli/client/task-flags.ts': ['priority'],
  'web/screens/task-form/command.ts': [],
  'web/screens/task-form/draft.ts': [],
  'web/screens/task-form/draft-fields.ts': [],
  'web/screens/task-form/draft-input.ts': [],
  'web/screens/task-form/draft-json.ts': [],
  'web/screens/task-form/field-box.tsx': [],
  'web/screens/task-form/task-form.tsx': [],
  'web/screens/task-form/test-input.ts': ['retry', 'queueTimeout', 'overlap', 'misfire'],
  'web/screens/task-form/when.tsx': [],
  // The line that says what is folded away.
  'web/screens/task-form/who.tsx': ['queue', 'metadata'],
  'web/screens/task-form/wrong.tsx': ['retry'],
}

test.each(Object.entries(PASSING))('%s names no field but %j', (path, own) => {
  expect(namedIn(path)).toEqual(own)
})

/** A rule or a summary is about a few fields. What names more of them than this has a list of its own. */
const MOST = 6

test('only the declaration lists the fields', () => {
  const sources = FILES.filter((path) => /^(src|web)\/.*\.tsx?$/.test(path) && !/\.test\./.test(path))
  const lists = sources
    .map((path) => ({ path, names: namedIn(path) }))
    .filter(({ names }) => names.length > MOST)

  expect(lists).toEqual([{ path: DECLARATION, names: NAMES }])
})

/** What names the limit of how long a run may wait. */
const NAMING = {
  declaration: [DECLARATION],
  code: [
    'src/core/ledger/refusal-report.ts',
    'src/core/why/skipped-then.ts',
    'src/scheduler/catch-up.ts',
    'src/scheduler/firing.ts',
    'src/scheduler/scheduler.ts',
    'src/store/agenda/expiry.ts',
    'web/screens/task-form/test-input.ts',
  ],
  /** The pages that a new field needs. */
  pages: ['CHANGELOG.md', 'docs/reference/commands.md', 'docs/reference/tasks.md'],
  explanations: [
    'ARCHITECTURE.md',
    'docs/guides/coming-from-pg-boss.md',
    'docs/reference/errors.md',
    'docs/reference/glossary.md',
    'docs/reference/queues.md',
    'docs/reference/states.md',
    'docs/reference/why.md',
  ],
}

test('queueTimeout is named only in its declaration, the code that uses it, and the pages about it', () => {
  const files = FILES.filter(
    (path) =>
      (/^(src|web|docs)\//.test(path) || /^[A-Z]+\.md$/.test(path)) &&
      /\.([cm]?[jt]sx?|css|html|json|md|svg)$/.test(path) &&
      !/\.test\./.test(path),
  )

  expect(files.filter((path) => /queueTimeout|--queue-timeout/.test(read(path)))).toEqual(
    Object.values(NAMING).flat().toSorted(),
  )
})

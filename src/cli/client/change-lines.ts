import type { FieldChange } from '../../core/task/version-diff.ts'
import { onStdout as c } from '../terminal.ts'
import { printable } from './printed.ts'

/** What differs, field by field: what was in red, what is in green. */
export const changeLines = (changes: readonly FieldChange[]): string[] =>
  changes.flatMap(({ field, before, after }) => [
    c.bold(printable(field)),
    ...(before === null ? [] : [c.red(`  - ${shown(before)}`)]),
    ...(after === null ? [] : [c.green(`  + ${shown(after)}`)]),
  ])

const shown = (value: unknown) => printable(typeof value === 'string' ? value : JSON.stringify(value))

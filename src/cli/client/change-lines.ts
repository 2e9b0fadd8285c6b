import type { FieldChange } from '../../core/task/version-diff.ts'
import { printable } from '../../core/values/printable.ts'
import { onStdout as c } from '../terminal.ts'

/** Differences field by field: the old value in red, the new value in green. */
export const changeLines = (changes: readonly FieldChange[]): string[] =>
  changes.flatMap(({ field, before, after }) => [
    c.bold(printable(field)),
    ...(before === null ? [] : [c.red(`  - ${shown(before)}`)]),
    ...(after === null ? [] : [c.green(`  + ${shown(after)}`)]),
  ])

const shown = (value: unknown) => printable(typeof value === 'string' ? value : JSON.stringify(value))

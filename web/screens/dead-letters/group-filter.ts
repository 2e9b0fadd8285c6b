/** The filter that selects the dead letters of a group. */
import type { Grouping } from '../../../src/core/run/grouping.ts'
import { HOUR_MS } from '../../../src/core/values/time-units.ts'
import type { LetterGroup } from '../../api/dead-letters.ts'
import type { LetterFilter } from '../../api/wire.ts'

export function groupFilter(by: Grouping, key: string, around: LetterFilter): LetterFilter {
  switch (by) {
    case 'error':
      return { ...around, fingerprint: key }
    case 'task':
      return { ...around, taskId: key }
    case 'hour': {
      const from = Date.parse(key)
      return {
        ...around,
        from: new Date(from).toISOString(),
        to: new Date(from + HOUR_MS).toISOString(),
      }
    }
  }
}

/** The title of a group: the error of its latest run, because what all its errors have in common leaves out too much. */
export function groupTitle(by: Grouping, group: LetterGroup): string {
  if (by === 'task') return group.taskName ?? group.key.slice(0, 13)
  return group.sample.message ?? group.pattern ?? group.code ?? 'no error message'
}

/** Which dead letters a group stands for. */
import type { LetterGroup } from '../../api/dead-letters.ts'
import type { LetterFilter } from '../../api/wire.ts'
import type { Grouping } from './search.ts'

const HOUR_MS = 3_600_000

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

/** What a group is about, in a line: what the latest of its runs said, for what all have in common leaves much out. */
export function groupTitle(by: Grouping, group: LetterGroup): string {
  if (by === 'task') return group.taskName ?? group.key.slice(0, 13)
  return group.sample.message ?? group.pattern ?? group.code ?? 'no error message'
}

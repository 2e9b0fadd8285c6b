/** Describes the consequences of a bulk action in numbers. */
import { formatCount } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import type { BulkAct } from './bulk-acts.ts'

export function bulkEffects(act: BulkAct, tasks: readonly Task[]): string[] {
  const active = tasks.filter(({ openRun }) => openRun !== null).length
  switch (act) {
    case 'delete':
      return [
        'They no longer run. Past runs stay in the history. This cannot be undone.',
        active === 0 ? 'They have no active runs.' : `${formatCount(active)} active runs will be cancelled.`,
      ]
    case 'pause':
      return [
        `${formatCount(tasks.filter(({ nextFireAt }) => nextFireAt !== null).length)} of them have upcoming occurrences, which do not run until the task is resumed.`,
        active === 0 ? 'They have no active runs.' : `${formatCount(active)} active runs continue.`,
      ]
    case 'resume':
      return [
        'They run on schedule again. Occurrences during the pause are recorded as skipped and do not run.',
      ]
    case 'run': {
      const blocked = tasks.filter(({ openRun, overlap }) => openRun !== null && overlap === 'skip').length
      return [
        `${formatCount(tasks.length - blocked)} runs start immediately, in addition to the schedules.`,
        ...(blocked === 0
          ? []
          : [`${formatCount(blocked)} will be refused: a run is active, and the overlap policy is skip.`]),
      ]
    }
  }
}

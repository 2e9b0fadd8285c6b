/** What follows from doing the same to many tasks, in numbers. */
import { formatCount } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import type { BulkAct } from './bulk-acts.ts'

export function bulkEffects(act: BulkAct, tasks: readonly Task[]): string[] {
  const active = tasks.filter(({ openRun }) => openRun !== null).length
  switch (act) {
    case 'delete':
      return [
        'They do not fire any more. What has run stays in the history. This cannot be undone.',
        active === 0
          ? 'None of their runs is active now.'
          : `${formatCount(active)} active runs are cancelled.`,
      ]
    case 'pause':
      return [
        `${formatCount(tasks.filter(({ nextFireAt }) => nextFireAt !== null).length)} of them are due by time, and do not fire until they are resumed.`,
        active === 0 ? 'None of their runs is active now.' : `${formatCount(active)} active runs go on.`,
      ]
    case 'resume':
      return [
        'They fire again by their schedules. What was passed over meanwhile is recorded as skipped and not made up for.',
      ]
    case 'run': {
      const blocked = tasks.filter(({ openRun, overlap }) => openRun !== null && overlap === 'skip').length
      return [
        `${formatCount(tasks.length - blocked)} runs start at once, beside what their schedules do.`,
        ...(blocked === 0
          ? []
          : [`${formatCount(blocked)} are refused: a run of theirs is active, and their policy is skip.`]),
      ]
    }
  }
}

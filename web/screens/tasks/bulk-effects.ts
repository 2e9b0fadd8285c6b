/** Describes the consequences of a bulk action in numbers. */
import type { Task } from '../../api/wire.ts'
import { counted } from '../../components/count-words.ts'
import type { BulkAct } from './bulk-acts.ts'

export function bulkEffects(act: BulkAct, tasks: readonly Task[]): string[] {
  const active = tasks.filter(({ openRun }) => openRun !== null).length
  switch (act) {
    case 'delete':
      return [
        'They no longer run. Past runs stay in the history. This cannot be undone.',
        active === 0 ? 'They have no active runs.' : `${counted(active, 'active run')} will be cancelled.`,
      ]
    case 'pause': {
      const upcoming = tasks.filter(({ nextFireAt }) => nextFireAt !== null).length
      return [
        upcoming === 0
          ? 'They have no upcoming occurrences.'
          : `Upcoming occurrences of ${counted(upcoming, 'task')} do not run until ${upcoming === 1 ? 'it is' : 'they are'} resumed.`,
        active === 0
          ? 'They have no active runs.'
          : `${counted(active, 'active run continues', 'active runs continue')}.`,
      ]
    }
    case 'resume':
      return [
        'They run on schedule again. Occurrences during the pause are recorded as skipped and do not run.',
      ]
    case 'run': {
      const blocked = tasks.filter(({ openRun, overlap }) => openRun !== null && overlap === 'skip').length
      return [
        `${counted(tasks.length - blocked, 'run starts', 'runs start')} immediately, in addition to the schedules.`,
        ...(blocked === 0
          ? []
          : [
              `${counted(blocked, 'task is', 'tasks are')} refused: a run is active, and the overlap policy is skip.`,
            ]),
      ]
    }
  }
}

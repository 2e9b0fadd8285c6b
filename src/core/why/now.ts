/**
 * Why a task is not running now. Pure: it receives the task, its live rows and the available workers, and returns all causes,
 * the most important one first.
 */
import { activeCauses } from './active-causes.ts'
import { fileCauses } from './file-causes.ts'
import type { NowCase } from './now-case.ts'
import { queueCauses } from './queue-causes.ts'
import { keyCauses, missingCauses } from './secret-causes.ts'
import { targetCauses } from './target-causes.ts'
import { taskCauses } from './task-causes.ts'
import { watcherCauses } from './watcher-causes.ts'
import { instant, quoted, type Why } from './why.ts'
import { workerCauses } from './worker-causes.ts'

export function whyNow(it: NowCase): Why[] {
  const active = activeCauses(it)
  // While a run is active, the next due instant does not explain why it waits.
  const causes = [
    ...active,
    ...taskCauses(it).filter(({ code }) => active.length === 0 || code !== 'not_due'),
  ]
  const isRunning = causes.some(({ code }) => code === 'running')
  const isOver = causes.some(({ code }) => code === 'cancelled' || code === 'finished')
  if (isRunning || isOver) return causes
  // Also lists what would delay the task once it is due.
  const known = new Set(causes.map(({ code }) => code))
  const hindrances = [
    ...blackoutCauses(it),
    ...queueCauses(it, null),
    ...targetCauses(it.target, null),
    ...fileCauses(it.files),
    ...missingCauses(it.secrets),
    ...keyCauses(it.secrets, 'The next run would wait', {}),
    ...workerCauses(it, null),
    ...watcherCauses(it),
  ]
  return [...causes, ...hindrances.filter(({ code }) => !known.has(code) && code !== 'workers_busy')]
}

/** In a blackout, no run starts by time. */
function blackoutCauses({ blackout, taskId }: NowCase): Why[] {
  if (!blackout) return []
  const { name, until, effect } = blackout
  const fate = effect === 'skip' ? 'are skipped' : 'are deferred until it ends'
  return [
    {
      code: 'blackout',
      sentence: `The blackout ${name} is in force until ${instant(until)}; occurrences ${fate}.`,
      facts: { name, until },
      advice: `To remove it: belfry blackout remove ${quoted(name)}. To run the task now: belfry task run ${taskId}`,
    },
  ]
}

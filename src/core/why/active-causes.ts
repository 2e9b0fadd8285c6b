/** What the active runs of a task are doing or waiting for. Pure. */
import { roughly } from '../words/time.ts'
import type { LiveRun, NowCase } from './now-case.ts'
import { queueCauses } from './queue-causes.ts'
import { keyCauses } from './secret-causes.ts'
import { targetCauses } from './target-causes.ts'
import { instant, type Why } from './why.ts'
import { workerCauses } from './worker-causes.ts'

const ORDER = ['running', 'pending', 'retrying', 'held', 'deferred'] as const

/** The causes for active runs: one for each state in which the task has runs. */
export function activeCauses(it: NowCase): Why[] {
  return ORDER.flatMap((state) => {
    const run = it.live.find((row) => row.state === state)
    return run ? activeCause(it, run) : []
  })
}

function activeCause(it: NowCase, run: LiveRun): Why[] {
  const { now } = it
  const facts = { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor }
  switch (run.state) {
    case 'running': {
      const since = Math.max(run.claimedAt ?? run.scheduledFor, run.scheduledFor)
      if (since > now) return [starting(run)]
      const stop = run.isCancelled ? ' Its cancellation was requested.' : ''
      return [
        {
          code: 'running',
          sentence: `The task is running: run ${run.runId} started ${roughly(now - since)} ago.${stop}`,
          facts: {
            ...facts,
            since,
            attempt: run.attempt,
            ...(run.workerId ? { workerId: run.workerId } : {}),
          },
          advice: null,
        },
      ]
    }
    case 'retrying':
      return [
        {
          code: 'retry_wait',
          sentence: `Attempt ${run.attempt} of run ${run.runId} failed; the next attempt starts at ${instant(run.wakeAt)}.`,
          facts: { ...facts, until: run.wakeAt, attempt: run.attempt },
          advice: `To see the error: belfry run show ${run.runId}. To cancel the run: belfry run cancel ${run.runId}`,
        },
      ]
    case 'held': {
      const holder = it.live.find(
        ({ state }) => state === 'running' || state === 'pending' || state === 'retrying',
      )
      return [
        {
          code: 'overlap',
          sentence: holder
            ? `Run ${run.runId} is waiting for run ${holder.runId} of the same task, which is ${holder.state}.`
            : `Run ${run.runId} is waiting for earlier runs of the same task.`,
          facts: {
            ...facts,
            runId: holder?.runId ?? run.runId,
            since: run.scheduledFor,
            count: it.live.filter(({ state }) => state === 'held').length,
          },
          advice: `Wait until that run ends, or cancel it: belfry run cancel ${holder?.runId ?? run.runId}. With the overlap policy "allow", runs do not wait for one another.`,
        },
      ]
    }
    case 'deferred':
      return [
        {
          code: 'blackout',
          sentence: `Run ${run.runId} came due during a blackout and is deferred until the blackout ends at ${instant(run.wakeAt)}.`,
          facts: { ...facts, until: run.wakeAt },
          advice: `Wait until the blackout ends, or remove it (to find it: belfry blackout list). To run the task now: belfry task run ${it.taskId}`,
        },
      ]
    case 'pending': {
      const held = [
        ...queueCauses(it, run),
        ...targetCauses(it.target, run),
        ...keyCauses(it.secrets, `Run ${run.runId} is due and waiting`, { ...facts, since: run.wakeAt }),
        ...workerCauses(it, run),
      ]
      return held.slice(0, 1)
    }
    default:
      return []
  }
}

export const starting = (run: LiveRun): Why => ({
  code: 'starting',
  sentence: `Run ${run.runId} is due and is being started.`,
  facts: { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor },
  advice: null,
})

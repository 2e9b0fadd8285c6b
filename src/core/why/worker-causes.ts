/** Why a run of an open queue waits for a worker. Pure. */
import { roughly } from '../words/time.ts'
import { neededFlags, neededWords } from './needed.ts'
import type { LiveRun, NowCase } from './now-case.ts'
import type { Why } from './why.ts'

export function workerCauses({ workers, waiting, now }: NowCase, run: LiveRun | null): Why[] {
  const facts = run
    ? { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor, since: run.wakeAt }
    : {}
  const who = run ? `Run ${run.runId} is due and waiting` : 'The next run would wait'
  const { labels, ahead, handler } = waiting
  if (workers.alive === 0 && handler !== null)
    return [
      {
        code: 'no_worker',
        sentence: `${who}: no connected worker provides the handler ${handler}.`,
        facts: { ...facts, handler, workers: 0 },
        advice: 'Start a worker that provides this handler. To list connected workers: belfry worker list',
      },
    ]
  if (workers.alive === 0)
    return [
      {
        code: 'no_worker',
        sentence: `${who}: no node with the role worker is alive.`,
        facts: { ...facts, workers: 0 },
        advice: 'Start a node with the role worker: belfry start --roles worker',
      },
    ]
  if (workers.capable === 0) {
    const needed = neededWords(waiting)
    return [
      {
        code: 'no_capable_worker',
        sentence: `${who}: ${workers.alive === 1 ? 'the only live worker does not provide' : `none of ${workers.alive} live workers provides`} ${needed}.`,
        facts: { ...facts, labels, workers: workers.alive, ...(handler === null ? {} : { handler }) },
        advice:
          handler === null
            ? `Start a worker that provides it: ${neededFlags(waiting)}`
            : 'Start a worker that provides it and serves the queue of the task. To see what workers provide: belfry worker list',
      },
    ]
  }
  return [
    {
      code: 'workers_busy',
      sentence: run
        ? `Run ${run.runId} has been due for ${roughly(now - run.wakeAt)} and is waiting for a free worker slot; ${ahead} ${ahead === 1 ? 'run is' : 'runs are'} ahead of it.`
        : 'All worker slots are in use.',
      facts: { ...facts, workers: workers.capable, places: workers.places, ahead },
      advice: 'Wait, raise --concurrency, or start more workers.',
    },
  ]
}

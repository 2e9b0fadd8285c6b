/**
 * Why a task is not running now. Pure: it receives the task, its live rows and the available workers, and returns all causes,
 * the most important one first.
 */
import type { BlackoutEffect } from '../policy/blackout-rule.ts'
import { roughly } from '../words/time.ts'
import { type AwaitedFiles, fileCauses } from './file-causes.ts'
import { neededFlags, neededWords } from './needed.ts'
import { type NextOwed, nextOwed } from './next-owed.ts'
import { type AwaitedSecrets, keyCauses, missingCauses } from './secret-causes.ts'
import { type AwaitedTarget, targetCauses } from './target-causes.ts'
import { because, doubledRate, instant, quoted, type Why } from './why.ts'

/** A live row of the task. */
export interface LiveRun {
  readonly runId: string
  readonly kind: string
  readonly state: 'scheduled' | 'pending' | 'running' | 'retrying' | 'held' | 'deferred'
  readonly scheduledFor: number
  readonly wakeAt: number
  readonly attempt: number
  readonly workerId: string | null
  readonly claimedAt: number | null
  readonly isCancelled: boolean
}

/** Where the task's runs wait for a worker. */
export interface Waiting {
  readonly queue: string
  readonly queuePausedAt: number | null
  readonly queueLimit: number | null
  readonly queueHeld: number
  readonly queueRate: string | null
  /** When the rate of the queue allows the next start; null if it allows one now. */
  readonly queueOpensAt: number | null
  readonly projectLimit: number | null
  readonly projectHeld: number
  readonly projectRate: string | null
  readonly projectOpensAt: number | null
  readonly key: string | null
  readonly keyLimit: number | null
  readonly keyHeld: number
  readonly keyRate: string | null
  readonly keyOpensAt: number | null
  readonly labels: readonly string[]
  /** The handler that one of the user's workers must provide; null if nodes perform the runs. */
  readonly handler: string | null
  /** Number of runs that wait before this one, counted up to a limit. */
  readonly ahead: number
  /** Whether a run waits in a queue that is not registered, so that no worker finds it. */
  readonly isMissing: boolean
}

/** The workers that could perform the runs. */
export interface Workers {
  readonly alive: number
  /** Number of workers that offer what the task requires. */
  readonly capable: number
  /** Number of these that are remote workers. */
  readonly remote: number
  readonly places: number
}

/** The node that watches the task's shard. */
export interface Watcher {
  readonly shard: number
  readonly isWatched: boolean
  readonly watchedUntil: number
}

/** All that the answer depends on. Instants are epoch milliseconds. */
export interface NowCase extends NextOwed {
  readonly taskId: string
  readonly now: number
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly resumeAt: number | null
  readonly cancelledAt: number | null
  readonly live: readonly LiveRun[]
  /** The latest run of the task that has ended. */
  readonly last: { readonly runId: string; readonly state: string; readonly endedAt: number } | null
  readonly waiting: Waiting
  /** The target of the task's calls; null if the task makes no calls. */
  readonly target: AwaitedTarget | null
  /** The secrets that the task refers to; null if it refers to none. */
  readonly secrets: AwaitedSecrets | null
  /** The files of the task that are not uploaded; null if it uses no files. */
  readonly files: AwaitedFiles | null
  readonly workers: Workers
  readonly watcher: Watcher
  /** The blackout of the project that is in force. */
  readonly blackout: Blackout | null
}

/** A blackout that is in force at a given instant. */
export interface Blackout {
  readonly name: string
  readonly effect: BlackoutEffect
  readonly until: number
}

/** A row that has been due for less than this is assumed to be starting. */
const STARTING_MS = 2_000

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

const ORDER = ['running', 'pending', 'retrying', 'held', 'deferred'] as const

/** The causes for active runs: one for each state in which the task has runs. */
function activeCauses(it: NowCase): Why[] {
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

/**
 * The limits of the project, the queue and the concurrency key that keep runs from starting. A rate that is reached now is no
 * cause for a run that is not due yet.
 */
function queueCauses({ waiting, taskId }: NowCase, run: LiveRun | null): Why[] {
  const { queue, queuePausedAt, queueLimit, queueHeld, key, keyLimit, keyHeld, projectLimit, projectHeld } =
    waiting
  const facts = run
    ? { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor, since: run.wakeAt }
    : {}
  const who = run ? `Run ${run.runId} is due and waiting` : 'The next run would wait'
  const causes: Why[] = []
  if (run && waiting.isMissing)
    causes.push({
      code: 'queue_missing',
      sentence: `${who}: the queue ${queue} was removed because it was unused, and has not been restored yet.`,
      facts: { ...facts, queue },
      advice:
        'Nodes with the role liveness restore it within seconds. If this lasts, start one: belfry start --roles liveness',
    })
  if (projectLimit !== null && projectHeld >= projectLimit)
    causes.push({
      code: 'project_full',
      sentence: `${who}: the project is at its limit of ${projectLimit} runs in progress.`,
      facts: { ...facts, limit: projectLimit, held: projectHeld },
      advice: `Wait for a free slot, or ask an admin of the installation to raise the limit: belfry project edit --max-running ${2 * projectLimit}`,
    })
  if (queuePausedAt !== null)
    causes.push({
      code: 'queue_paused',
      sentence: `${who}: queue ${queue} has been paused since ${instant(queuePausedAt)}.`,
      facts: { ...facts, queue, since: queuePausedAt },
      advice: `To resume the queue: belfry queue resume ${queue}`,
    })
  if (queueLimit !== null && queueHeld >= queueLimit)
    causes.push({
      code: 'queue_full',
      sentence: `${who}: queue ${queue} is at its limit of ${queueLimit}.`,
      facts: { ...facts, queue, limit: queueLimit, held: queueHeld },
      advice: `Wait for a free slot, or raise the limit: belfry queue limit ${queue} ${2 * queueLimit}`,
    })
  if (key !== null && keyLimit !== null && keyHeld >= keyLimit)
    causes.push({
      code: 'key_full',
      sentence: `${who}: concurrency key ${key} is at its limit of ${keyLimit}.`,
      facts: { ...facts, key, limit: keyLimit, held: keyHeld },
      advice: `Wait for a free slot, or raise the limit: belfry task edit ${taskId} --concurrency-limit ${2 * keyLimit}`,
    })
  return run ? [...causes, ...rateCauses(waiting, { taskId, who, facts })] : causes
}

/** The rates that are reached. The one that delays the run longest comes first. */
function rateCauses(
  waiting: Waiting,
  { taskId, who, facts }: { readonly taskId: string; readonly who: string; readonly facts: Why['facts'] },
): Why[] {
  const { queue, queueRate, queueOpensAt, key, keyRate, keyOpensAt, projectRate, projectOpensAt } = waiting
  const causes: (Why & { readonly until: number })[] = []
  if (projectRate !== null && projectOpensAt !== null)
    causes.push({
      code: 'project_rate_limited',
      sentence: `${who}: the project is at its limit of ${projectRate} starts; the next start is at ${instant(projectOpensAt)}.`,
      facts: { ...facts, rate: projectRate, until: projectOpensAt },
      advice: `Wait, or ask an admin of the installation to raise the limit: belfry project edit --run-rate ${doubledRate(projectRate)}`,
      until: projectOpensAt,
    })
  if (queueRate !== null && queueOpensAt !== null)
    causes.push({
      code: 'queue_rate_limited',
      sentence: `${who}: queue ${queue} is at its rate limit of ${queueRate}; the next start is at ${instant(queueOpensAt)}.`,
      facts: { ...facts, queue, rate: queueRate, until: queueOpensAt },
      advice: `Wait, or raise the rate: belfry queue limit ${queue} --rate ${doubledRate(queueRate)}`,
      until: queueOpensAt,
    })
  if (key !== null && keyRate !== null && keyOpensAt !== null)
    causes.push({
      code: 'key_rate_limited',
      sentence: `${who}: concurrency key ${key} is at its rate limit of ${keyRate}; the next start is at ${instant(keyOpensAt)}.`,
      facts: { ...facts, key, rate: keyRate, until: keyOpensAt },
      advice: `Wait, or raise the rate: belfry task edit ${taskId} --concurrency-rate ${doubledRate(keyRate)}`,
      until: keyOpensAt,
    })
  return causes.sort((a, b) => b.until - a.until).map(({ until: _, ...cause }) => cause)
}

/** Why a run of an open queue waits for a worker. */
function workerCauses({ workers, waiting, now }: NowCase, run: LiveRun | null): Why[] {
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
        sentence: `${who}: none of ${workers.alive} live ${workers.alive === 1 ? 'worker' : 'workers'} provides ${needed}.`,
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

function watcherCauses({ watcher, now }: NowCase): Why[] {
  if (watcher.isWatched) return []
  return [
    {
      code: 'shard_unwatched',
      sentence: `No scheduler has watched shard ${watcher.shard}, which contains the task, for ${roughly(now - watcher.watchedUntil)}.`,
      facts: { shard: watcher.shard, since: watcher.watchedUntil },
      advice:
        'Start a node with the role scheduler: belfry start --roles scheduler. It fires due runs as soon as it starts.',
    },
  ]
}

const starting = (run: LiveRun): Why => ({
  code: 'starting',
  sentence: `Run ${run.runId} is due and is being started.`,
  facts: { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor },
  advice: null,
})

/** Causes in the task itself: it has ended, is paused, or is not due. */
function taskCauses(it: NowCase): Why[] {
  const { now, cancelledAt, pausedAt, pauseReason, resumeAt, definition } = it
  if (cancelledAt !== null)
    return [
      {
        code: 'cancelled',
        sentence: `The task was cancelled at ${instant(cancelledAt)}, which is final.`,
        facts: { since: cancelledAt },
        advice: 'Create a new task.',
      },
    ]
  if (it.files !== null && it.files.since !== null) return fileCauses(it.files)
  if (pausedAt !== null) {
    const until = resumeAt === null ? '' : `, until ${instant(resumeAt)}`
    return [
      {
        code: 'paused',
        sentence: `The task has been paused since ${instant(pausedAt)}${until}${because(pauseReason)}.`,
        facts: {
          since: pausedAt,
          ...(resumeAt === null ? {} : { until: resumeAt }),
          ...(pauseReason === null ? {} : { reason: pauseReason }),
        },
        advice: `To resume it: belfry task resume ${it.taskId}. To run it once without resuming: belfry task run ${it.taskId}`,
      },
    ]
  }
  const scheduled = it.live.filter(({ state, kind }) => state === 'scheduled' && kind !== 'resume')
  const [first] = scheduled.sort((a, b) => a.wakeAt - b.wakeAt)
  if (first) return [first.wakeAt > now ? notDue(it, first) : dueNow(it, first)]
  if (it.live.some(({ state }) => state !== 'scheduled')) return besideActive(it)
  if (definition.schedule.type === 'manual')
    return [
      {
        code: 'manual_only',
        sentence: 'The task has no schedule; it runs only when triggered.',
        facts: lastOf(it),
        advice: `To run it: belfry task run ${it.taskId}. To give it a schedule: belfry task edit ${it.taskId} --every 1h`,
      },
    ]
  return [withoutRow(it)]
}

/** While a run is active, a task with a fixed schedule must already have its next row; a chain gets it when the run ends. */
function besideActive(it: NowCase): Why[] {
  const { type } = it.definition.schedule
  if (type === 'delay' || type === 'manual' || type === 'once') return []
  const cause = withoutRow(it)
  return cause.code === 'next_row_lost' ? [cause] : []
}

function dueNow(it: NowCase, row: LiveRun): Why {
  const [unwatched] = watcherCauses(it)
  const facts = { runId: row.runId, scheduledFor: row.scheduledFor, since: row.wakeAt }
  if (unwatched)
    return { ...unwatched, facts: { ...unwatched.facts, ...facts, since: it.watcher.watchedUntil } }
  if (it.now - row.wakeAt < STARTING_MS) return starting(row)
  return {
    code: 'scheduler_behind',
    sentence: `The task has been due for ${roughly(it.now - row.wakeAt)}, and the scheduler of shard ${it.watcher.shard} has not processed it yet.`,
    facts: { ...facts, shard: it.watcher.shard },
    advice: 'If this persists, the scheduler is overloaded: start another node with the role scheduler.',
  }
}

function notDue(it: NowCase, row: LiveRun): Why {
  const isSkip = row.kind === 'skip'
  const plain = `The task is not due yet; the next occurrence is at ${instant(row.wakeAt)}, in ${roughly(row.wakeAt - it.now)}.`
  return {
    code: 'not_due',
    sentence: isSkip ? `${plain} It will be skipped, as requested.` : plain,
    facts: { nextAt: row.wakeAt, scheduledFor: row.scheduledFor, ...lastOf(it) },
    advice: `To run it now: belfry task run ${it.taskId}`,
  }
}

const lastOf = ({ last }: NowCase) => (last ? { runId: last.runId, runState: last.state } : {})

/** What the audit does about a missing row, and when. */
const repairOf = (type: string) =>
  type === 'once'
    ? 'The audit, which nodes with the role liveness run, checks 30 000 tasks per minute. It restores the row, or records the task as lost if its misfire policy or onWorkerLoss does not allow it to run. GET /v1/findings shows the result.'
    : 'The audit restores the row within a minute if a node with the role liveness is running. GET /v1/findings shows the result.'

/** The task has no live row: either it has no further occurrences, or its row was lost. */
function withoutRow(it: NowCase): Why {
  const owed = nextOwed(it)
  if (owed.isOver)
    return {
      code: 'finished',
      sentence: `The task is finished: ${owed.why}.`,
      facts: { ...lastOf(it), ...(it.last ? { since: it.last.endedAt } : {}) },
      advice: `To run it again: belfry task run ${it.taskId}. Or change its schedule so that it has upcoming occurrences.`,
    }
  return {
    code: 'next_row_lost',
    sentence: `The row of the next occurrence is missing; it was due at ${instant(owed.at)}.`,
    facts: { nextAt: owed.at, ...lastOf(it) },
    advice: repairOf(it.definition.schedule.type),
  }
}

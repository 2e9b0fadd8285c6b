/** Which limits and rates of the project, the queue and the concurrency key keep runs from starting. Pure. */
import type { LiveRun, NowCase, Waiting } from './now-case.ts'
import { doubledRate, instant, type Why } from './why.ts'

/** The limits that are reached. A rate that is reached now is no cause for a run that is not due yet. */
export function queueCauses({ waiting, taskId }: NowCase, run: LiveRun | null): Why[] {
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

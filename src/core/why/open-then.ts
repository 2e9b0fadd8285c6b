/** What a run that was active at an instant in the past was doing or waiting for. Pure. */
import { roughly } from '../words/time.ts'
import { recordedCauses } from './recorded.ts'
import type { PastAttempt, PastRun, ThenCase } from './then-case.ts'
import { instant, type Why } from './why.ts'

/** The causes if a run was active: it ran, waited for its next attempt, or waited for a worker. */
export function openThen({ taskId, at, attempts, now, blackout, recorded }: ThenCase, run: PastRun): Why[] {
  const facts = { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor }
  const first = run.lateMs === null ? run.startedAt : run.scheduledFor + run.lateMs
  const own = attempts.filter(({ runId }) => runId === run.runId)
  const during = own.find(({ startedAt, endedAt }) => (startedAt ?? endedAt) <= at && at < endedAt)
  const isLastAttempt = run.startedAt !== null && run.startedAt <= at
  if (during || isLastAttempt)
    return [
      {
        code: 'running',
        sentence: `The task was running: attempt ${during?.number ?? run.attempt} of run ${run.runId}.`,
        facts: {
          ...facts,
          attempt: during?.number ?? run.attempt,
          ...sinceUntil(during?.startedAt ?? run.startedAt, during?.endedAt ?? run.endedAt),
        },
        advice: null,
      },
    ]
  const before = own.filter(({ endedAt }) => endedAt <= at).at(-1)
  if (before && before.outcome !== 'worker_lost')
    return [
      {
        code: 'retry_wait',
        sentence: `Attempt ${before.number} of run ${run.runId} had failed, and the next attempt had not started.`,
        facts: {
          ...facts,
          attempt: before.number,
          ...sinceUntil(before.endedAt, nextStart(own, before, run)),
        },
        advice: `To see the error: belfry run show ${run.runId}`,
      },
    ]
  if (!before && blackout?.effect === 'defer' && run.kind !== 'manual')
    return [
      {
        code: 'blackout',
        sentence: `Run ${run.runId} was due and was deferred until the blackout ${blackout.name} ended at ${instant(blackout.until)}.`,
        facts: { ...facts, name: blackout.name, until: blackout.until },
        advice: null,
      },
    ]
  const since = before?.endedAt ?? run.scheduledFor
  const until = before ? nextStart(own, before, run) : first
  const waited =
    until === null ? `until ${instant(run.endedAt ?? now)} without starting` : `for ${roughly(until - since)}`
  const lost = before ? 'its worker had died, and ' : ''
  const who = `Run ${run.runId} was due and waited ${waited}`
  const known = recordedCauses(recorded, { taskId, who, facts: { ...facts, ...sinceUntil(since, until) } })
  if (known.length > 0) return known
  return [
    {
      code: 'waited',
      sentence: `${who}: ${lost}the reason is not recorded (a full queue, no free worker, or no scheduler).`,
      facts: { ...facts, ...sinceUntil(since, until) },
      advice:
        'To learn the reason, ask while the run is waiting. GET /v1/stats shows the lateness of runs by the minute.',
    },
  ]
}

const nextStart = (own: readonly PastAttempt[], { number }: PastAttempt, run: PastRun): number | null =>
  own.find((attempt) => attempt.number === number + 1)?.startedAt ?? run.startedAt

export const sinceUntil = (since: number | null, until: number | null) => ({
  ...(since === null ? {} : { since }),
  ...(until === null ? {} : { until }),
})

/** Divides the time of a run since it was due into lateness, attempts and waits between them. */
import type { RunWithAttempts } from '../../api/wire.ts'
import type { AnyState } from '../../components/state.ts'

export type Stretch = {
  readonly key: string
  readonly from: number
  readonly ms: number
  readonly label: string
} & ({ readonly kind: 'late' | 'wait' } | { readonly kind: 'attempt'; readonly state: AnyState })

export function stretchesOf(run: RunWithAttempts, now: number): Stretch[] {
  const stretches: Stretch[] = []
  let reached = Date.parse(run.scheduledFor)
  const wait = (until: number, label: string) => {
    const kind = stretches.length === 0 ? 'late' : 'wait'
    if (until > reached)
      stretches.push({ key: `${kind}-${reached}`, kind, from: reached, ms: until - reached, label })
    reached = Math.max(reached, until)
  }
  for (const attempt of run.attempts) {
    const begun = Date.parse(attempt.startedAt ?? attempt.endedAt)
    const ended = Date.parse(attempt.endedAt)
    wait(begun, stretches.length === 0 ? 'late' : 'wait')
    const isFinal = attempt.status === 'permanently_failed' && attempt.outcome !== 'cancelled'
    stretches.push({
      key: `attempt-${attempt.number}`,
      kind: 'attempt',
      state: isFinal ? 'permanently_failed' : attempt.outcome,
      from: begun,
      ms: Math.max(0, ended - begun),
      label: `attempt ${attempt.number}`,
    })
    reached = Math.max(reached, ended)
  }
  if (run.state === 'running' && run.startedAt !== null) {
    const begun = Date.parse(run.startedAt)
    wait(begun, stretches.length === 0 ? 'late' : 'wait')
    stretches.push({
      key: `attempt-${run.attempt}`,
      kind: 'attempt',
      state: 'running',
      from: begun,
      ms: Math.max(0, now - begun),
      label: `attempt ${run.attempt}`,
    })
  }
  if (run.state === 'retrying' || run.state === 'pending') wait(now, 'waiting')
  return stretches
}

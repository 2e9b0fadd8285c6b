import type { SleepAction } from '../../core/action/action.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { parseDuration } from '../../core/values/duration.ts'
import type { StopSignal } from '../../runtime/stop-signal.ts'
import type { AttemptContext } from '../executor.ts'

/** The longest delay of a Node timer; any longer delay would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Simulated work: waits for the duration and completes, never early. Zero completes without a timer. */
export async function sleep(action: SleepAction, context: AttemptContext): Promise<Outcome> {
  const duration = parseDuration(action.duration)
  if (!duration.ok) {
    return {
      kind: 'failed',
      error: { code: 'invalid_duration', message: `the duration "${action.duration}" ${duration.reason}` },
      retryable: false,
    }
  }
  if (duration.ms > 0) await waitUntil(performance.now() + duration.ms, context.signal)
  return { kind: 'completed', output: null }
}

/** Resolves at the instant of the monotonic clock, or as soon as the signal fires. */
function waitUntil(instant: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    // Timers can fire up to 1.5 ms early and cannot hold long delays, so every wake-up asks the clock.
    const wake = () => {
      const left = instant - performance.now()
      if (left <= 0 || signal.aborted) return finish()
      timer = setTimeout(wake, Math.min(Math.ceil(left), MAX_TIMER_MS))
    }
    signal.addEventListener('abort', finish)
    wake()
  })
}

/** Waits until a run has ended and reports each attempt as it ends. */
import { setTimeout as pause } from 'node:timers/promises'
import { isLiveState } from '../../core/run/run.ts'
import { printable } from '../../core/values/printable.ts'
import { outcomeWords } from '../../core/words/outcome.ts'
import { formatDistance } from '../../core/words/time.ts'
import { EXIT } from '../exit.ts'
import { type RunWithAttempts, tookWords } from './run-words.ts'
import type { Server } from './server.ts'
import { markOf } from './state-words.ts'

const FIRST_LOOK_MS = 50
const LAST_LOOK_MS = 1_000

/** Polls quickly at first, then every second: short runs are reported at once, long ones cost few requests. */
export async function waitForRun(
  server: Server,
  id: string,
  onAttempt: (text: string) => void,
): Promise<RunWithAttempts> {
  let told = 0
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * 1.5, LAST_LOOK_MS)) {
    const run = await server.get<RunWithAttempts>(`/v1/runs/${id}`)
    for (const attempt of run.attempts.slice(told)) onAttempt(attemptLine(attempt, run, server.now()))
    told = run.attempts.length
    if (!isLiveState(run.state)) return run
    await pause(lookMs)
  }
}

function attemptLine(
  attempt: RunWithAttempts['attempts'][number],
  run: RunWithAttempts,
  now: number,
): string {
  const words = printable(outcomeWords(attempt) || attempt.outcome.replaceAll('_', ' '))
  const again = run.retryAt === null ? '' : `; next attempt ${formatDistance(Date.parse(run.retryAt), now)}`
  return `${markOf(attempt.outcome)} attempt ${attempt.number}: ${words} in ${tookWords(attempt)}${again}\n`
}

/** Exit code for the state of a run that was waited for. */
export const exitCodeOf = ({ state }: RunWithAttempts): number =>
  state === 'completed' ? EXIT.ok : EXIT.runFailed

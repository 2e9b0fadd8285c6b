/** Runs a draft once, as a temporary task that is always deleted afterwards. */
import { get } from '../../api/client.ts'
import { isOpen } from '../../api/runs.ts'
import { createTask, deleteTask, deleteTaskOnLeaving } from '../../api/tasks.ts'
import type { Page, Run } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { testInput } from './test-input.ts'

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 2_000
/** For longer tests, save the task and run it. */
export const MAX_TEST_MINUTES = 10

/** The polling interval grows with the duration of the run. */
export const nextWait = (waitMs: number): number => Math.min(LONGEST_WAIT_MS, waitMs * 1.5)

/** Resolves with the last known state of the run. The task is deleted then, or as soon as the signal fires. */
export async function runOnce(draft: Draft, signal: AbortSignal): Promise<Run | null> {
  const task = await createTask(testInput(draft))
  const leave = () => deleteTaskOnLeaving(task.id)
  if (signal.aborted) return leave()
  signal.addEventListener('abort', leave)
  try {
    return await lastSeen(task.id, signal)
  } finally {
    signal.removeEventListener('abort', leave)
    if (!signal.aborted) await deleteTask(task.id)
  }
}

async function lastSeen(taskId: string, signal: AbortSignal): Promise<Run | null> {
  const until = performance.now() + MAX_TEST_MINUTES * 60_000
  let run: Run | null = null
  for (let waitMs = FIRST_WAIT_MS; performance.now() < until; waitMs = nextWait(waitMs)) {
    const { items } = await get<Page<Run>>(`/v1/tasks/${taskId}/runs?limit=1`, signal)
    run = items[0] ?? null
    if (run && !isOpen(run)) return run
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
  return run
}

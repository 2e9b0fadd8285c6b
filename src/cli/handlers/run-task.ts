import { randomUUID } from 'node:crypto'
import type { Run } from '../../api/resources/runs/schemas.ts'
import { readParts } from '../client/action-flags.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { type ClientFlags, serverFrom } from '../client/output.ts'
import type { Flags } from '../client/task-flags.ts'
import { namingFlags } from '../client/task-refusal.ts'
import { giveNewRun } from './runs.ts'

/** Settings that one run can override. Flags of the action are parsed like those of a task. */
export type RunFlags = ClientFlags & Flags & { readonly wait?: boolean }

export async function runTask(ref: string, flags: RunFlags): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref)
  const override = await readOverride(flags)
  const run = await namingFlags(flags, 'run', () =>
    server.post<Run>(`/v1/tasks/${task.id}/trigger`, override, { 'idempotency-key': randomUUID() }),
  )
  await giveNewRun(server, run, `task ${titleOf(task)} triggered`, flags)
}

async function readOverride(flags: Flags): Promise<object | undefined> {
  const number = (value: unknown) => (value === undefined ? undefined : readNumber(String(value)))
  const { queue, timeout, overlap, retries, priority } = flags
  const override = {
    action: await readParts(flags),
    queue,
    priority: number(priority),
    timeout,
    retry: retries === undefined ? undefined : { limit: number(retries) },
    overlap,
  }
  return Object.values(override).some((value) => value !== undefined) ? override : undefined
}

import { randomUUID } from 'node:crypto'
import type { Run } from '../../api/schemas/run.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { type ClientFlags, serverFrom } from '../client/output.ts'
import { giveNewRun } from './runs.ts'

export async function runTask(ref: string, flags: ClientFlags & { readonly wait?: boolean }): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref)
  const run = await server.post<Run>(`/v1/tasks/${task.id}/trigger`, undefined, {
    'idempotency-key': randomUUID(),
  })
  await giveNewRun(server, run, `task ${titleOf(task)} runs now`, flags)
}

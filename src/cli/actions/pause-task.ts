import type { Task } from '../../api/schemas/task.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { instantWords } from '../client/task-words.ts'
import { onStdout as c } from '../terminal.ts'

export async function pauseTask(verb: 'pause' | 'resume', ref: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const task = await server.post<Task>(`/v1/tasks/${id}/${verb}`)
  give(task, flags, () => {
    const next =
      task.nextFireAt === null ? '' : `; next ${instantWords(task.nextFireAt, task.timezone, server.now())}`
    const words =
      verb === 'pause' ? 'is paused; its occurrences will be recorded as skipped' : `goes on${next}`
    return `${c.green('✓')} task ${titleOf(task)} ${words}\n`
  })
}

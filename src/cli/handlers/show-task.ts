import { findTask } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { taskText } from '../client/task-words.ts'

export async function showTask(ref: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref, 'recent,next')
  give(task, flags, () => taskText(task, server))
}

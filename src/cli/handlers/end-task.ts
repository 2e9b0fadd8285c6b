import { confirm } from '../client/confirm.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { onStdout as c } from '../terminal.ts'

const EFFECT = {
  cancel: 'It will never fire again.',
  delete: 'It will never fire again and is hidden; its history is kept.',
}

export async function endTask(
  verb: 'cancel' | 'delete',
  ref: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref)
  const title = titleOf(task)
  const run = task.openRun === null ? '' : ` Its ${task.openRun.state} run will be cancelled.`
  const Verb = verb === 'cancel' ? 'Cancel' : 'Delete'
  await confirm(`${Verb} ${title}? ${EFFECT[verb]}${run}`, flags)
  if (verb === 'delete') await server.ask('DELETE', `/v1/tasks/${task.id}`)
  const ended = verb === 'delete' ? task : await server.post(`/v1/tasks/${task.id}/cancel`)
  give(
    ended,
    flags,
    () => `${c.green('✓')} task ${title} is ${verb === 'delete' ? 'deleted' : 'cancelled'}\n`,
  )
}

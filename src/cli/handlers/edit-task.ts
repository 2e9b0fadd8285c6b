import type { Task } from '../../api/resources/tasks/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { usage } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { facts } from '../client/printed.ts'
import { type Flags, readTaskFlags, type TaskInput } from '../client/task-flags.ts'
import { namingFlags } from '../client/task-refusal.ts'
import { nextPairs } from '../client/task-words.ts'
import { onStdout as c } from '../terminal.ts'

/** Edits a task. The request contains the version that was read, so that the edit fails if the task has changed since. */
export async function editTask(
  ref: string,
  flags: Flags & ClientFlags & { readonly name?: string; readonly ifVersion?: string },
): Promise<void> {
  const server = serverFrom(flags)
  const version = readVersion(flags.ifVersion)
  const task = await findTask(server, ref)
  const edit: TaskInput = await readTaskFlags(flags, task)
  if (flags.name !== undefined) edit['name'] = flags.name || null
  if (Object.keys(edit).length === 0)
    throw usage('No changes were given.', 'For all flags: belfry task edit --help')
  await namingFlags(flags, 'edit', () =>
    server.ask('PATCH', `/v1/tasks/${task.id}`, {
      body: edit,
      headers: { 'if-match': `"${version ?? task.version}"` },
    }),
  )
  const edited = await server.get<Task>(`/v1/tasks/${task.id}?include=next`)
  give(edited, flags, () => {
    const words = printable(edited.scheduleInWords ?? '')
    const head = `${c.green('✓')} task ${titleOf(edited)} is now version ${edited.version}  ${words}`
    return `${head}\n${facts([['changed', Object.keys(edit).join(', ')], ...nextPairs(edited, server.now())])}`
  })
}

function readVersion(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw usage(`--if-version is '${text}'; it must be a version such as 7.`)
}

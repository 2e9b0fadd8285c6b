import type { Task } from '../../api/resources/tasks/schemas.ts'
import type { TaskVersion } from '../../api/resources/versions/schemas.ts'
import { changesBetween, type FieldChange } from '../../core/task/version-diff.ts'
import { changeLines } from '../client/change-lines.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import type { Server } from '../client/server.ts'

/** Prints the differences between two versions of a task; the second defaults to the current version. */
export async function diffTask(
  ref: string,
  from: string,
  to: string | undefined,
  flags: ClientFlags,
): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref)
  const [before, after] = await Promise.all([
    readVersion(server, task, from),
    readVersion(server, task, to ?? String(task.version)),
  ])
  const changes = changesBetween(before.definition, after.definition)
  give(changes, flags, () => diffText(task, { before, after, changes }))
}

const readVersion = (server: Server, { id }: Task, version: string) =>
  server.get<TaskVersion>(`/v1/tasks/${id}/versions/${encodeURIComponent(version)}`)

interface Diff {
  readonly before: TaskVersion
  readonly after: TaskVersion
  readonly changes: readonly FieldChange[]
}

function diffText(task: Task, { before, after, changes }: Diff): string {
  const head = `task ${titleOf(task)}, version ${before.version} to ${after.version}`
  if (changes.length === 0) return `${head}: no differences\n`
  return `${head}\n${changeLines(changes).join('\n')}\n`
}

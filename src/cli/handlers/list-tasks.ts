import type { Task } from '../../api/resources/tasks/schemas.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { taskTable } from '../client/task-words.ts'

interface ListFlags extends ClientFlags {
  readonly state?: string
  readonly type?: string
  readonly tag?: string
  readonly owner?: string
  readonly search?: string
  readonly limit: string
}

export async function listTasks(flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const { state, type, tag, owner, search } = flags
  const filter = { state, type, tag, owner, q: search, include: 'recent,next' }
  const listed = await readPages<Task>(server, '/v1/tasks', filter, readLimit(flags.limit))
  if (listed.items.length === 0 && !flags.json) return remark(nothing(flags))
  give(listed.items, flags, () => taskTable(listed.items, server.now()))
  remarkMore(listed)
}

function nothing({ state, type, tag, owner, search }: ListFlags): string {
  if ([state, type, tag, owner, search].some((value) => value !== undefined)) return 'No tasks found.\n'
  return 'There are no tasks yet.\ntry:   belfry task create hello --every 10s --action sleep:1s\n'
}

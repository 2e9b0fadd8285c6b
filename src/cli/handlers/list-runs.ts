import type { Run } from '../../api/resources/runs/schemas.ts'
import { findTask } from '../client/find-task.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { runTable } from '../client/run-words.ts'

interface ListFlags extends ClientFlags {
  readonly task?: string
  readonly state?: string
  readonly from?: string
  readonly to?: string
  readonly limit: string
}

export async function listRuns(flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const { state, from, to } = flags
  const limit = readLimit(flags.limit)
  const taskId = flags.task === undefined ? undefined : (await findTask(server, flags.task)).id
  const listed = await readPages<Run>(server, '/v1/runs', { state, from, to, taskId }, limit)
  if (listed.items.length === 0 && !flags.json) return remark('No runs found.\n')
  give(listed.items, flags, () => runTable(listed.items, server.now()))
  remarkMore(listed)
}

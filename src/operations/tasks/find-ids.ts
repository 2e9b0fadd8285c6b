import { idRange, uuidTime } from '../../core/ids.ts'
import {
  type FoundId,
  filesInRange,
  type IdRange,
  runsInRange,
  tasksInRange,
} from '../../store/tasks/id-search.ts'
import type { Context } from '../context.ts'

/** Maximum number of candidates; if there are more, a longer prefix is needed. */
const MAX_CANDIDATES = 10

/** The ids found, and whether there are more. */
export interface FoundIds {
  readonly items: readonly FoundId[]
  readonly hasMore: boolean
}

/** Returns tasks, runs or files whose ids begin with the prefix. */
export async function findIds(
  context: Context,
  { prefix, type }: { prefix: string; type: FoundId['type'] },
): Promise<FoundIds> {
  const { db, projectId } = context
  const range = { projectId, ...idRange(prefix), limit: MAX_CANDIDATES + 1 }
  const found =
    type === 'run'
      ? await findRuns(context, range)
      : await db.run(type === 'task' ? tasksInRange(range) : filesInRange(range))
  return { items: found.slice(0, MAX_CANDIDATES), hasMore: found.length > MAX_CANDIDATES }
}

/** A run id made by a node whose clock was far ahead seems to come from after the run's end. */
async function findRuns({ db }: Context, range: IdRange): Promise<FoundId[]> {
  const found = await db.run(runsInRange({ ...range, madeAt: uuidTime(range.least) }))
  return found.length > 0 ? found : db.run(runsInRange({ ...range, madeAt: 0 }))
}

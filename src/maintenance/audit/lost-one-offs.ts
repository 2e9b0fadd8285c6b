import { holdWalk, oneOffSlice, oneOffs, saveWalk, settleOneOffs } from '../../store/audit/audit-walks.ts'
import type { Database } from '../../store/database/database.ts'
import { remedyFor } from './stalled.ts'

/**
 * Number of tasks that one slice examines, and the pause after it: a million tasks take about forty minutes and a fraction of a
 * percent of a core.
 */
const SLICE_TASKS = 2_000
const PAUSE_MS = 4_000
/** Maximum number of one-offs in a slice that are examined exactly; if there are more, the slice ends there. */
const MAX_UNSURE = 200

/**
 * Walks over all one-off tasks and finds those that have neither a live row nor a record of their run. Those that turn out to
 * need none are settled, and not examined again until they change.
 */
export class LostOneOffs {
  readonly #db: Database

  constructor({ db }: { readonly db: Database }) {
    this.#db = db
  }

  /** Handles one slice if one is due; returns the tasks that lack a row. */
  runOnce(): Promise<readonly string[]> {
    return this.#db.transaction(async (tx) => {
      const [walk] = await tx.run(holdWalk('one_offs'))
      if (!walk) return []
      const [slice] = await tx.run(
        oneOffSlice({ after: walk.position, limit: SLICE_TASKS, maxUnsure: MAX_UNSURE }),
      )
      const { examined = 0, last = null, unsure = [] } = slice ?? {}
      const looked = unsure.length === 0 ? [] : await tx.run(oneOffs(unsure))
      const owes = (task: (typeof looked)[number]) =>
        remedyFor({ ...task, takenOverAt: null, lastEndedAt: null, ordinal: 1 }).kind === 'go_on'
      const settled = looked.filter((task) => !owes(task)).map(({ id }) => id)
      if (settled.length > 0) await tx.run(settleOneOffs(settled))
      const isCut = unsure.length === MAX_UNSURE
      const isOver = !isCut && examined < SLICE_TASKS
      const position = isOver ? null : isCut ? (unsure.at(-1) ?? null) : last
      await tx.run(saveWalk({ name: 'one_offs', position, pauseMs: PAUSE_MS }))
      return looked.filter(owes).map(({ id }) => id)
    })
  }
}

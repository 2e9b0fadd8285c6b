/** Dismisses dead letters: they leave the list, and history does not change. */
import { utc } from '../../core/values/utc.ts'
import {
  type DeadLetter,
  type DeadLetterFilter,
  settleDeadLetters,
} from '../../store/history/dead-letters.ts'
import type { RunPosition } from '../../store/history/run-search.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { countLetters, type FoundLetters, findLetters, MAX_EXAMINED } from './dead-letters.ts'

/**
 * Maximum number of batches that one request dismisses. Each is found by a search that ends after a bounded number of failed
 * runs, so a request is bounded also if nothing matches its filter, however long the history is.
 */
const MAX_BATCHES = 10

/** What one request dismissed, and the position to continue from; null if it reached the end. */
export interface Dismissed {
  readonly count: number
  readonly next: RunPosition | null
}

/** Dismisses the matching dead letters after a position, or only counts them; both up to a maximum per request. */
export async function dismissLetters(
  context: Context,
  query: { filter: DeadLetterFilter; before: RunPosition; dryRun?: boolean | undefined },
): Promise<Dismissed> {
  const { db, projectId } = context
  const { filter } = query
  if (query.dryRun) {
    const { letters, next } = await countLetters(context, filter, query.before)
    return { count: letters.length, next }
  }
  let before: RunPosition | null = query.before
  let count = 0
  for (let batch = 0; batch < MAX_BATCHES && before !== null; batch++) {
    const from: RunPosition = before
    const { letters, next }: FoundLetters = await db.snapshot(
      (tx) => findLetters(tx, { projectId, filter, before: from, limit: MAX_EXAMINED }),
      { inOrder: true },
    )
    if (letters.length > 0) count += await dismiss(context, letters, filter)
    before = next
  }
  return { count, next: before }
}

/** Dismisses one batch of a request, all or none, and returns how many of them were not settled yet. */
function dismiss(
  context: Context,
  letters: readonly DeadLetter[],
  filter: DeadLetterFilter,
): Promise<number> {
  return context.db.transaction(async (tx) => {
    const { length: count } = await tx.run(settleDeadLetters({ letters, how: 'dismissed' }))
    if (count > 0)
      await recordChange(tx, context, {
        action: 'dead_letter.dismiss',
        subject: { kind: 'dead_letter', id: null },
        after: { dismissed: count, filter: shownFilter(filter) },
      })
    return count
  })
}

/** Returns the filter in the form that the API accepts. */
const shownFilter = ({ from, to, ...filter }: DeadLetterFilter) => ({
  ...filter,
  ...(from === undefined ? {} : { from: utc(from) }),
  ...(to === undefined ? {} : { to: utc(to) }),
})

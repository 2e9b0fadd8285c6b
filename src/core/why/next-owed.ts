/** Whether a task without a live row should have another occurrence. Pure. */
import { firstOccurrence, nextOccurrence, owedOfDelay } from '../schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../task/task.ts'

/** The progress of a task. Instants are epoch milliseconds. */
export interface NextOwed {
  readonly definition: TaskDefinition
  readonly createdAt: number
  /** The latest occurrence in history. `ordinal` is the number that the next occurrence would have. */
  readonly latest: number | null
  readonly lastEndedAt: number | null
  readonly ordinal: number
  /** History before this instant was deleted. */
  readonly historyFrom: number
}

/** No further occurrence is due, and why; or the instant of the next one. */
export type Owed =
  | { readonly isOver: true; readonly why: string }
  | { readonly isOver: false; readonly at: number }

const PAST_END = 'it has no occurrences before its endAt'

export function nextOwed(it: NextOwed): Owed {
  const { definition, createdAt, latest, lastEndedAt, ordinal, historyFrom } = it
  const { maxRuns } = definition
  const over = (why: string): Owed => ({ isOver: true, why })
  const plan = planOf(definition)
  if (definition.schedule.type === 'once') {
    const at = firstOccurrence(plan, createdAt)
    const isKnown = at === null || latest !== null || at < historyFrom
    return isKnown ? over('its only occurrence has passed') : { isOver: false, at }
  }
  if (maxRuns !== null && (ordinal > maxRuns || (latest === null && createdAt < historyFrom)))
    return over(`it has run ${maxRuns} ${maxRuns === 1 ? 'time' : 'times'}, the maximum set by maxRuns`)
  if (definition.schedule.type === 'delay') {
    const at = owedOfDelay(plan, { lastEndedAt, createdAt })
    return at === null ? over(PAST_END) : { isOver: false, at }
  }
  const at = nextOccurrence(plan, Math.max(latest ?? historyFrom - 1, createdAt))
  if (at !== null) return { isOver: false, at }
  return over(plan.endAt === null ? 'its schedule has no more occurrences' : PAST_END)
}

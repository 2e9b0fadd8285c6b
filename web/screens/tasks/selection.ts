/**
 * The tasks selected for a bulk action: some of the loaded ones, or all that match the filter. Deleted tasks leave the
 * selection.
 */
import { useMemo, useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { isGone } from '../../api/gone.ts'
import type { Task } from '../../api/wire.ts'

/** What the selection covers: some tasks, all that match the filter, or the newest of more than one action takes. */
export type Reach = 'some' | 'all' | 'newest'

/** The matching tasks at the time of the request, as far as they were read. */
export interface Matched {
  readonly tasks: readonly Task[]
  readonly isCut: boolean
}

export function reachOf(matched: Matched | null, chosenOfThem: number, goneOfThem: number): Reach {
  if (matched === null || chosenOfThem === 0) return 'some'
  if (chosenOfThem < matched.tasks.length - goneOfThem) return 'some'
  return matched.isCut ? 'newest' : 'all'
}

const REACH_WORDS: Readonly<Record<Reach, string>> = {
  some: '',
  all: ', all that match',
  newest: ', the newest only; more match',
}

export const selectedWords = (count: number, reach: Reach): string =>
  `${formatCount(count)} selected${REACH_WORDS[reach]}`

export interface Selection {
  /** The selected tasks, in the order of the list. */
  readonly tasks: readonly Task[]
  readonly reach: Reach
  has(id: string): boolean
  toggle(id: string): void
  set(ids: readonly string[]): void
  setAll(matched: Matched): void
}

export function useSelection(shown: readonly Task[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [matched, setMatched] = useState<Matched | null>(null)
  return useMemo(() => {
    const known = new Map(shown.map((task) => [task.id, task]))
    const among = matched?.tasks ?? shown
    const tasks =
      chosen.size === 0
        ? []
        : among.filter(({ id }) => chosen.has(id) && !isGone(id)).map((task) => known.get(task.id) ?? task)
    return {
      tasks,
      reach: reachOf(matched, tasks.length, among.filter(({ id }) => isGone(id)).length),
      has: (id) => chosen.has(id),
      toggle: (id) =>
        setChosen((before) =>
          before.has(id) ? new Set([...before].filter((other) => other !== id)) : new Set([...before, id]),
        ),
      set: (ids) => {
        setMatched(null)
        setChosen(new Set(ids))
      },
      setAll: (all) => {
        setMatched(all)
        setChosen(new Set(all.tasks.map(({ id }) => id)))
      },
    }
  }, [chosen, matched, shown])
}

/**
 * Tasks that were chosen to do the same to all of them: some of those that are shown, or all that match the filter,
 * shown or not. Those that are gone are not chosen any more.
 */
import { useMemo, useState } from 'react'
import { isGone } from '../../api/gone.ts'
import type { Task } from '../../api/wire.ts'

export interface Selection {
  /** The chosen ones, in the order of the list. */
  readonly tasks: readonly Task[]
  /** All that matched when they were asked for, also those that the list has not come to. */
  readonly isAll: boolean
  has(id: string): boolean
  toggle(id: string): void
  set(ids: readonly string[]): void
  setAll(tasks: readonly Task[]): void
}

export function useSelection(shown: readonly Task[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [matched, setMatched] = useState<readonly Task[] | null>(null)
  return useMemo(() => {
    const known = new Map(shown.map((task) => [task.id, task]))
    const among = matched ?? shown
    const tasks =
      chosen.size === 0
        ? []
        : among.filter(({ id }) => chosen.has(id) && !isGone(id)).map((task) => known.get(task.id) ?? task)
    return {
      tasks,
      isAll: matched !== null && tasks.length > 0,
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
        setChosen(new Set(all.map(({ id }) => id)))
      },
    }
  }, [chosen, matched, shown])
}

/** Tasks that were chosen to do the same to all of them. Those that are gone are not chosen any more. */
import { useMemo, useState } from 'react'
import type { Task } from '../../api/wire.ts'

export interface Selection {
  /** The chosen ones among those that are shown, in their order. */
  readonly tasks: readonly Task[]
  has(id: string): boolean
  toggle(id: string): void
  set(ids: readonly string[]): void
}

export function useSelection(shown: readonly Task[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  return useMemo(
    () => ({
      tasks: chosen.size === 0 ? [] : shown.filter(({ id }) => chosen.has(id)),
      has: (id) => chosen.has(id),
      toggle: (id) =>
        setChosen((before) =>
          before.has(id) ? new Set([...before].filter((other) => other !== id)) : new Set([...before, id]),
        ),
      set: (ids) => setChosen(new Set(ids)),
    }),
    [chosen, shown],
  )
}

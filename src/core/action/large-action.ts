import type { LargeAction } from './action.ts'
import { originOf } from './call-target.ts'

/** The members of an action that matter here, or an action that is already reduced. */
type Brief = Pick<LargeAction, 'type' | 'name' | 'command' | 'target'> & { readonly url?: string }

/** Returns the part of an action that stays in memory with a waiting run if the whole action is too large. */
export function largeAction(
  { type, name, command, url, target: known }: Brief,
  largeBytes: number,
): LargeAction {
  const target = known ?? (url === undefined ? null : originOf(url))
  const named = type !== 'handler' || name === undefined ? {} : { name }
  const commanded = command === undefined ? {} : { command }
  return { type, ...named, ...commanded, ...(target === null ? {} : { target }), largeBytes }
}

import type { LargeAction } from './action.ts'
import { originOf } from './call-target.ts'

/** An action in brief, or what is already kept of one. */
type Brief = Pick<LargeAction, 'type' | 'name' | 'command' | 'target'> & { readonly url?: string }

/** What is kept of an action that is too large to wait in memory with its run. */
export function largeAction(
  { type, name, command, url, target: known }: Brief,
  largeBytes: number,
): LargeAction {
  const target = known ?? (url === undefined ? null : originOf(url))
  const named = type !== 'handler' || name === undefined ? {} : { name }
  const commanded = command === undefined ? {} : { command }
  return { type, ...named, ...commanded, ...(target === null ? {} : { target }), largeBytes }
}

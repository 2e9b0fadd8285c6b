/** The uploaded files that an action names. */
import type { Action } from './action.ts'

/** A file, and the place in the action that names it. */
export interface NamedFile {
  readonly id: string
  readonly pointer: string
}

const NONE: readonly NamedFile[] = []

/** Every place that names a file, even if several name the same one. */
export function filesNamedBy(action: Action): readonly NamedFile[] {
  if (action.type !== 'exec') return NONE
  const own = action.file === undefined ? [] : [{ id: action.file, pointer: '/action/file' }]
  const others = (action.files ?? []).flatMap((file, index) =>
    'file' in file ? [{ id: file.file, pointer: `/action/files/${index}/file` }] : [],
  )
  return [...own, ...others]
}

/** The ids of the files, each once. */
export const fileIdsOf = (action: Action): readonly string[] => [
  ...new Set(filesNamedBy(action).map(({ id }) => id)),
]

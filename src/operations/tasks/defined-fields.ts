import type { Action } from '../../core/action/action.ts'
import { maskedAction } from '../../core/action/masked-action.ts'
import type { VersionRow } from '../../store/tasks/task-versions.ts'

/**
 * Returns everything that a user set in a version, under the field names of requests. With `before`, changed secrets are
 * marked.
 */
export function definedFields({ key, name, owner, tags, definition }: VersionRow, before?: Action) {
  const { traceparent: _, anchorAt: __, seed: ___, projectId: ____, secrets: _____, ...fields } = definition
  const action = maskedAction(definition.action, before)
  return { key, name, owner, tags, ...fields, action, labels: [...fields.labels] }
}

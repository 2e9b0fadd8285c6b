/** Filters of the list of tasks in the address. */
import { ACTION_TYPES } from '../../../src/core/action/action.ts'
import { TASK_STATES } from '../../../src/core/task/task.ts'
import type { TaskFilter } from '../../api/tasks.ts'
import { choiceIn, type RawSearch, textIn } from '../../app/search.ts'

export type TaskFilters = { -readonly [Name in keyof TaskFilter]?: NonNullable<TaskFilter[Name]> }

export const STATES = TASK_STATES
export const TYPES = ACTION_TYPES

export function taskFilters(search: RawSearch): TaskFilters {
  const found = {
    q: textIn(search, 'q'),
    state: choiceIn(search, 'state', TASK_STATES),
    type: choiceIn(search, 'type', ACTION_TYPES),
    tag: textIn(search, 'tag'),
    owner: textIn(search, 'owner'),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

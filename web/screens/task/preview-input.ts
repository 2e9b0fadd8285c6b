import { onGridOf, type PreviewInput } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'

/** The fields that decide the next times of a stored task. */
export function previewInputOf(task: Task): PreviewInput {
  const { schedule, seed, startAt, endAt, jitter } = task
  return {
    schedule: onGridOf(task, schedule),
    ...(seed === null ? {} : { seed }),
    ...(startAt === null ? {} : { startAt }),
    ...(endAt === null ? {} : { endAt }),
    ...(jitter === null ? {} : { jitter }),
  }
}

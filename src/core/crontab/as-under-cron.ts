import type { TaskInput } from '../task/task-input.ts'

/** Policies that match cron: runs may overlap, missed occurrences are skipped, and a run is never started a second time. */
export const AS_UNDER_CRON = {
  overlap: 'allow',
  misfire: { policy: 'skip' },
  onWorkerLoss: 'fail',
} as const satisfies Partial<TaskInput>

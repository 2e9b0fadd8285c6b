import type { TaskInput } from '../task/task-input.ts'

/** How cron treats its jobs: they may overlap, nothing that was missed is made up for, and nothing is begun a second time. */
export const AS_UNDER_CRON = {
  overlap: 'allow',
  misfire: { policy: 'skip' },
  onWorkerLoss: 'fail',
} as const satisfies Partial<TaskInput>

import { utc } from '../../../core/values/utc.ts'
import { definedFields } from '../../../operations/tasks/defined-fields.ts'
import type { ComparedVersion } from '../../../operations/tasks/task-versions.ts'
import type { TaskVersion } from './schemas.ts'

export const presentVersionSummary = ({ row, changes }: ComparedVersion) => ({
  version: row.version,
  isCurrent: row.isCurrent,
  madeAt: utc(row.madeAt),
  madeBy: row.madeBy,
  reason: row.reason,
  rollbackOf: row.rollbackOf,
  changes: [...changes],
})

export const presentVersion = (version: ComparedVersion): TaskVersion => ({
  ...presentVersionSummary(version),
  definition: definedFields(version.row),
})

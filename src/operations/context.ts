import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database/database.ts'
import type { WriteCheck } from '../store/database/write-check.ts'
import type { ProjectLimits } from '../store/projects/projects.ts'
import type { LaneRegistry } from '../store/queues/queues.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

/** What an operation works with: the truth, its time, and a way to wake whoever is concerned. */
export interface Context {
  readonly db: Database
  /** Whether the database can be written to. It has a connection of its own. */
  readonly writeCheck: WriteCheck
  readonly clock: Clock
  readonly wakeUps: WakeUps
  readonly lanes: LaneRegistry
  /** How often nodes show that they live. */
  readonly heartbeatMs: number
  /** A shard whose owner is silent for longer than this is unwatched. */
  readonly shardTakeoverMs: number
  /** What was unwatched for no longer than this simply runs late. */
  readonly misfireGraceMs: number
  /** What holds for projects that set no limits of their own. */
  readonly limits: ProjectLimits
  /** The project that the caller acts in. */
  readonly projectId: string
}

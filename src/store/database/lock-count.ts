import { sql } from './sql.ts'

/** Objects whose number is limited. */
export type Counted = 'keys' | 'members' | 'projects'

/**
 * Serialises transactions that add one of these objects, until they commit, so that the count is exact: in a project, or in the
 * installation if `projectId` is null.
 */
export const lockCount = (counted: Counted, projectId: string | null) => sql`
  select pg_advisory_xact_lock(hashtextextended('belfry.' || ${counted}::text || ':' || coalesce(${projectId}::text, ''), 0))`

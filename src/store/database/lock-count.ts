import { sql } from './sql.ts'

/** What there may be only so many of. */
export type Counted = 'keys' | 'members' | 'projects'

/**
 * Whoever adds one of these waits for others who do, until they commit, so that the number is exact: of a project, or of the
 * installation where there is none.
 */
export const lockCount = (counted: Counted, projectId: string | null) => sql`
  select pg_advisory_xact_lock(hashtextextended('belfry.' || ${counted}::text || ':' || coalesce(${projectId}::text, ''), 0))`

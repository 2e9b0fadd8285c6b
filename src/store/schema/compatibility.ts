/** Which builds may use the database: those that include at least a given migration. */
import { type Statement, sql } from '../database/sql.ts'

/** No row in a database without the migration that creates the table. */
export const readOldestMigration = (): Statement<{ oldestMigration: number }> => sql`
  select oldest_migration as "oldestMigration" from compatibility`

/** Two builds, each given by the last migration that it includes. */
export interface Builds {
  /** The last migration that this build includes. */
  readonly known: number
  /** The last migration that a build must include to use the database. */
  readonly oldest: number
}

/** Error message for a build that is too old. */
export const tooOldSentence = ({ known, oldest }: Builds): string =>
  `The schema of this database is newer than this release: it requires migration ${oldest}, and this release includes migrations up to ${known}. Install a newer release.`

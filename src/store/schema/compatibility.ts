/** Which builds may use the database: those that know at least one named migration. */
import { type Statement, sql } from '../database/sql.ts'

/** No row on a database that has not reached the migration which makes the table. */
export const readOldestMigration = (): Statement<{ oldestMigration: number }> => sql`
  select oldest_migration as "oldestMigration" from compatibility`

/** Two builds, each by the last migration that it knows. */
export interface Builds {
  /** The last migration that this build knows. */
  readonly known: number
  /** The last migration that a build must know to use the database. */
  readonly oldest: number
}

/** What a build that is too old is told. */
export const tooOldSentence = ({ known, oldest }: Builds): string =>
  `The schema of this database is newer than this release: it requires migration ${oldest}, and this release includes migrations up to ${known}. Install a newer release.`

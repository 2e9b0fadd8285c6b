import { sql } from '../database/sql.ts'

/** One numbered SQL file. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly text: string
  readonly checksum: string
}

/** Records that a migration was applied. */
export const noteApplied = ({ number, name, checksum }: Migration) =>
  sql`insert into migration (number, name, checksum) values (${number}, ${name}, ${checksum})`

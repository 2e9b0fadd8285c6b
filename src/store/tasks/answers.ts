/** Responses stored under an Idempotency-Key. */
import { sql } from '../database/sql.ts'

/** A response to store under an Idempotency-Key. */
export interface RememberedAnswer {
  readonly key: string
  readonly fingerprint: Buffer
  readonly status: number
  /** The body as JSON text, stored as a JSON string: as jsonb it would be returned with its members in another order. */
  readonly answer: string
}

/** Stores a response within a transaction; no row if the key already has one. */
export const rememberAnswer = (
  projectId: string,
  { key, fingerprint, status, answer }: RememberedAnswer,
) => sql<{ key: string }>`
  insert into idempotency (project_id, key, fingerprint, status, answer)
  values (${projectId}, ${key}, ${fingerprint}, ${status}, ${JSON.stringify(answer)}::jsonb)
  on conflict do nothing
  returning key`

export const rememberedAnswer = (projectId: string, key: string) =>
  sql<{
    fingerprint: Buffer
    status: number
    answer: string
  }>`select fingerprint, status, answer from idempotency where project_id = ${projectId} and key = ${key}`

export const deleteOldAnswers = (olderThanHours: number) => sql`
  delete from idempotency where created_at < now() - make_interval(hours => ${olderThanHours}::integer)`

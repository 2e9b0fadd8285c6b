/**
 * The one table of refusals. A refusal is an answer the product gives on purpose: its code never changes
 * meaning, its status is what HTTP says of it, and docs/reference/errors.md explains each one.
 */
export const REFUSALS = {
  malformed_request: { status: 400, title: 'The request could not be read' },
  unknown_token: { status: 401, title: 'The token was given to no worker' },
  foreign_origin: { status: 403, title: 'Pages of other sites may not change anything here' },
  own_request: { status: 403, title: 'Belfry does not call itself' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'This address does not take that method' },
  run_active: { status: 409, title: 'A run of this task is still active' },
  run_ended: { status: 409, title: 'The run has ended' },
  override_outdated: { status: 409, title: 'The override of the run no longer fits its task' },
  backfill_active: { status: 409, title: 'A backfill of this task is still running' },
  backfill_ended: { status: 409, title: 'The backfill has ended' },
  backfill_impossible: { status: 409, title: 'The task has no occurrences in the past' },
  task_ended: { status: 409, title: 'The task has ended' },
  nothing_ahead: { status: 409, title: 'The task has nothing ahead' },
  too_many_blackouts: { status: 409, title: 'The project has too many blackouts' },
  key_in_use: { status: 409, title: 'Another task has this key' },
  worker_gone: { status: 410, title: 'The worker was declared dead or has left' },
  redrive_ended: { status: 409, title: 'The redrive has ended' },
  too_many_subscriptions: { status: 409, title: 'The project has as many subscriptions as it may' },
  too_many_secrets: { status: 409, title: 'Enough signing secrets are in use' },
  version_mismatch: { status: 412, title: 'The task was changed in the meantime' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  misdirected_request: { status: 421, title: 'This server does not answer for that host name' },
  invalid_input: { status: 422, title: 'The request is not valid' },
  beyond_limits: { status: 422, title: 'The project does not allow such a schedule' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used for another request' },
  too_many_workers: { status: 429, title: 'Too many workers register' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  busy: { status: 503, title: 'Too many large requests at once' },
  too_many_streams: { status: 503, title: 'Too many streams are open here' },
  unavailable: { status: 503, title: 'The database cannot be used at the moment' },
  database_read_only: { status: 503, title: 'The database is read-only' },
  database_full: { status: 503, title: 'The disk of the database is full' },
  database_overloaded: { status: 503, title: 'The database has no resources left' },
} as const

export type RefusalCode = keyof typeof REFUSALS

/**
 * One thing that is wrong with a request, and where: a JSON pointer into the body, `?name` of the query,
 * `{name}` in the address, or the name of a header.
 */
export interface Problem {
  readonly pointer: string
  readonly detail: string
}

export class Refusal extends Error {
  readonly code: RefusalCode
  readonly problems: readonly Problem[]
  /** Further members of the problem document, such as the id of the run that is in the way. */
  readonly extra: Readonly<Record<string, unknown>>
  /** When asking again makes sense, where that is known. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: RefusalCode,
    detail: string,
    more: {
      problems?: readonly Problem[]
      extra?: Record<string, unknown>
      retryAfterSeconds?: number
    } = {},
  ) {
    super(detail)
    this.name = 'Refusal'
    this.code = code
    this.problems = more.problems ?? []
    this.extra = more.extra ?? {}
    this.retryAfterSeconds = more.retryAfterSeconds
  }
}

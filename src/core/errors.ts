/**
 * The table of all refusals. A refusal is an intended error response: its code never changes meaning, its status is the HTTP
 * status, and docs/reference/errors.md explains each one.
 */
export const REFUSALS = {
  malformed_request: { status: 400, title: 'The request is malformed' },
  unknown_token: { status: 401, title: 'Unknown worker token' },
  unauthenticated: { status: 401, title: 'Authentication required' },
  invalid_signature: { status: 401, title: 'The signed address is not valid' },
  forbidden: { status: 403, title: 'Not allowed' },
  foreign_origin: { status: 403, title: 'Cross-site request refused' },
  own_request: { status: 403, title: 'Belfry cannot call itself' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  run_active: { status: 409, title: 'A run of this task is still active' },
  attempt_ended: { status: 409, title: 'The attempt has ended' },
  run_ended: { status: 409, title: 'The run has ended' },
  override_outdated: { status: 409, title: 'The override no longer fits the task' },
  backfill_active: { status: 409, title: 'A backfill of this task is still running' },
  backfill_ended: { status: 409, title: 'The backfill has ended' },
  backfill_impossible: { status: 409, title: 'The task has no past occurrences' },
  task_ended: { status: 409, title: 'The task has ended' },
  nothing_ahead: { status: 409, title: 'The task has no upcoming occurrence' },
  too_many_tasks: { status: 409, title: 'Too many tasks' },
  too_much_stored: { status: 409, title: 'The storage limit is reached' },
  too_many_blackouts: { status: 409, title: 'Too many blackouts' },
  default_project: { status: 409, title: 'The default project cannot be archived' },
  name_in_use: { status: 409, title: 'The name is already in use' },
  too_many_projects: { status: 409, title: 'Too many projects' },
  project_archived: { status: 409, title: 'The project is archived' },
  too_many_keys: { status: 409, title: 'Too many API keys' },
  no_admin_key: { status: 409, title: 'The first API key must be an admin of the installation' },
  key_ended: { status: 409, title: 'The API key is no longer valid' },
  key_in_use: { status: 409, title: 'The key is already in use' },
  worker_gone: { status: 410, title: 'The worker is no longer registered' },
  redrive_ended: { status: 409, title: 'The redrive has ended' },
  too_many_subscriptions: { status: 409, title: 'Too many subscriptions' },
  too_many_target_settings: { status: 409, title: 'Too many targets with settings' },
  too_many_secrets: { status: 409, title: 'Too many signing secrets' },
  too_many_stored_secrets: { status: 409, title: 'Too many secrets' },
  secret_in_use: { status: 409, title: 'The secret is in use' },
  worker_too_old: { status: 409, title: 'The worker is too old' },
  older_nodes: { status: 409, title: 'Nodes of an older release are running' },
  too_many_members: { status: 409, title: 'Too many members' },
  file_waiting: { status: 409, title: 'The file is not complete' },
  file_ready: { status: 409, title: 'The file is already complete' },
  file_in_use: { status: 409, title: 'The file is in use' },
  upload_conflict: { status: 409, title: 'The upload must continue at another position' },
  version_mismatch: { status: 412, title: 'The task has changed since it was read' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  misdirected_request: { status: 421, title: 'The server does not serve this host name' },
  invalid_input: { status: 422, title: 'The request is not valid' },
  content_mismatch: { status: 422, title: 'The content does not match its announced size or hash' },
  beyond_limits: { status: 422, title: 'The task exceeds a limit' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used for a different request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  stream_limit: { status: 429, title: 'The limit of open streams is reached' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  too_many_workers: { status: 429, title: 'Too many worker registrations' },
  too_many_sign_ins: { status: 429, title: 'Too many failed sign-ins' },
  internal: { status: 500, title: 'Internal server error' },
  busy: { status: 503, title: 'The node is busy' },
  database_slow: { status: 503, title: 'The database is slow' },
  too_many_streams: { status: 503, title: 'The node has too many open streams' },
  unavailable: { status: 503, title: 'The database is unavailable' },
  database_read_only: { status: 503, title: 'The database is read-only' },
  database_full: { status: 503, title: 'The database has run out of disk space' },
  secrets_unavailable: { status: 503, title: 'The node cannot encrypt secrets' },
  database_overloaded: { status: 503, title: 'The database is out of resources' },
} as const

export type RefusalCode = keyof typeof REFUSALS

/**
 * One problem of a request, and its location: a JSON pointer into the body, `?name` for the query, `{name}` for the path, or
 * the name of a header.
 */
export interface Problem {
  readonly pointer: string
  readonly detail: string
}

export class Refusal extends Error {
  readonly code: RefusalCode
  readonly problems: readonly Problem[]
  /** Further members of the problem document, such as the id of the conflicting run. */
  readonly extra: Readonly<Record<string, unknown>>
  /** When the client should retry, if that is known. */
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

/** Maximum number of problems that a response reports. Without it, a request could produce one for each of its bytes. */
export const MAX_PROBLEMS = 20
const MAX_SUMMARISED = 3

/** Creates a refusal that lists every problem and summarises the first few in a sentence. */
export function invalidInput(problems: readonly Problem[]): Refusal {
  return new Refusal('invalid_input', sentence(problems), { problems })
}

export function sentence(problems: readonly Problem[]): string {
  const told = problems
    .slice(0, MAX_SUMMARISED)
    .map(({ pointer, detail }) => `${pointer === '' ? 'the body' : pointer} ${detail}`)
  const more = problems.length - told.length
  return `${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

/** Returns the problems of a part with their pointers into the whole. */
export const located = (pointer: string, problems: readonly Problem[]): Problem[] =>
  problems.map((problem) => ({ ...problem, pointer: pointer + problem.pointer }))

/** Converts the server's problem documents (RFC 9457) to errors: a sentence, the invalid fields, and what to do. */
import { CliError, EXIT, type ExitCode } from '../exit.ts'
import { counted } from './printed.ts'

/** Body of an error response. */
export interface Problem {
  readonly title: string
  readonly detail: string
  readonly status: number
  readonly code: string
  readonly requestId?: string
  /** The run that a conflict is about. */
  readonly runId?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** The flag for a pointer into the request; the pointer itself if no flag sets it. */
export type PlaceName = (pointer: string) => string

interface RefusedOptions {
  readonly nameOf?: PlaceName | undefined
  readonly hint?: string | undefined
  readonly retryAfterMs?: number | null
}

/** The server rejected a request. Commands that built the request from flags can name the flags in the message. */
export class RefusedError extends CliError {
  readonly problem: Problem
  /** When the server asks to repeat the request; null if it does not say. */
  readonly retryAfterMs: number | null

  constructor(problem: Problem, options: RefusedOptions = {}) {
    const { nameOf = placeName, retryAfterMs = null } = options
    const { hint = hintFor(problem, retryAfterMs) } = options
    const { errors = [], code, requestId } = problem
    super(sentenceOf(problem), hint, exitCodeFor(problem), {
      why: errors.map(({ pointer, detail }) => `${nameOf(pointer)}: ${detail}`),
      code: requestId === undefined ? code : `${code}, request ${requestId}`,
    })
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** If the problem lists fields, their errors say what is wrong; otherwise the detail does. */
function sentenceOf({ title, detail, errors = [] }: Problem): string {
  return errors.length > 0 ? `${title}.` : detail
}

/** Converts `/retry/limit` to retry.limit, `?limit` to limit, and `{id}` to id. */
function placeName(pointer: string): string {
  if (pointer.startsWith('/')) return pointer.slice(1).replaceAll('/', '.')
  return pointer.replace(/^\?/, '').replace(/^\{(.*)\}$/, '$1') || 'the request'
}

function exitCodeFor({ status }: Problem): ExitCode {
  if (status === 404) return EXIT.notFound
  if (status === 401 || status === 403) return EXIT.unauthorised
  if (status === 409 || status === 412) return EXIT.conflict
  if (status === 503) return EXIT.unreachable
  return status >= 400 && status < 500 ? EXIT.usage : EXIT.failed
}

function hintFor({ status, code, detail, runId }: Problem, retryAfterMs: number | null): string {
  const run = runId ?? 'ID'
  if (code === 'version_mismatch') return 'Read the task again (belfry task show) and reapply the change.'
  if (code === 'run_active') return `Wait until that run ends, or cancel it: belfry run cancel ${run}`
  if (code === 'key_in_use') return 'Choose another --key, or change the task that has it: belfry task edit.'
  if (code === 'run_ended') return `To rerun it: belfry run retry ${run}`
  if (code === 'too_many_secrets')
    return 'To list them: belfry signing-secret list. To revoke one: belfry signing-secret revoke ID'
  if (code === 'secret_in_use') return 'To see them: belfry secret show NAME. To delete it anyway: --force'
  if (code === 'secrets_unavailable')
    return 'To see which nodes have the key: belfry node list --field secrets'
  if (code === 'too_many_blackouts')
    return 'To list them: belfry blackout list. To remove one: belfry blackout remove NAME'
  if (code === 'task_ended') return 'Create a new task: belfry task create --help'
  if (code === 'unauthenticated')
    return 'Log in with belfry login, or pass an API key with --api-key or BELFRY_KEY.'
  if (code === 'forbidden') return 'Use an API key that allows this, or ask an admin of the project.'
  if (status === 404) return `To see what exists: ${listOf(detail)}`
  if (code === 'database_read_only' || code === 'database_full') return 'Fix this and try again.'
  if (status === 429) return `Wait ${waitWords(retryAfterMs)} and try again.`
  if (status === 503) return 'Try again in a moment. See the server log for details.'
  if (status >= 500) return 'Look up the request id in the server log.'
  return 'Correct the request and try again. See --help for examples.'
}

const waitWords = (ms: number | null): string =>
  ms === null ? 'a moment' : counted(Math.ceil(ms / 1_000), 'second')

/** Commands that list the kind of object that a detail such as "Project shop does not exist." mentions. */
const LISTS = {
  'API key': 'belfry key list',
  'Audit log entry': 'belfry audit-log list',
  Blackout: 'belfry blackout list',
  File: 'belfry file list',
  Member: 'belfry member list',
  Person: 'belfry person list',
  Project: 'belfry project list',
  Queue: 'belfry queue list',
  Run: 'belfry run list',
  Secret: 'belfry secret list',
  'Signing secret': 'belfry signing-secret list',
  Subscription: 'belfry subscription list',
  Target: 'belfry target list',
  Task: 'belfry task list',
} as const

function listOf(detail: string): string {
  const found = Object.entries(LISTS).find(([kind]) => detail.startsWith(`${kind} `))
  return found?.[1] ?? 'belfry task list, belfry run list'
}

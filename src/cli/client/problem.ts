/** The server's problem documents (RFC 9457) as failures of the program: a sentence, the fields, what to do. */
import { CliError, EXIT, type ExitCode } from '../exit.ts'

/** What an answer that is not a success holds. */
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

/** What a place in the request is called on the command line; the place itself where it has no other name. */
export type PlaceName = (pointer: string) => string

/** A refusal by the server. Commands that made the request out of flags can name those. */
export class RefusedError extends CliError {
  readonly problem: Problem

  constructor(problem: Problem, nameOf: PlaceName = placeName, hint = hintFor(problem)) {
    const { errors = [], code, requestId } = problem
    super(sentenceOf(problem), hint, exitCodeFor(problem), {
      why: errors.map(({ pointer, detail }) => `${nameOf(pointer)}: ${detail}`),
      code: requestId === undefined ? code : `${code}, request ${requestId}`,
    })
    this.problem = problem
  }
}

export const explainProblem = (problem: Problem): RefusedError => new RefusedError(problem)

/** Where fields are listed, what is wrong is said there; else the detail says it. */
function sentenceOf({ title, detail, errors = [] }: Problem): string {
  return errors.length > 0 ? `${title}.` : detail
}

/** `/retry/limit` is said as retry.limit, `?limit` as limit, `{id}` as id. */
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

function hintFor({ status, code, runId }: Problem): string {
  const run = runId ?? 'ID'
  if (code === 'version_mismatch') return 'Read it again (belfry task show), and repeat the change.'
  if (code === 'run_active') return `Wait until that run has ended, or cancel it: belfry run cancel ${run}`
  if (code === 'key_in_use') return 'Choose another --key, or change the task that has it: belfry task edit.'
  if (code === 'run_ended') return `Run it once more: belfry run retry ${run}`
  if (code === 'too_many_secrets')
    return 'belfry signing-secret list shows them; belfry signing-secret revoke ends one.'
  if (code === 'too_many_blackouts')
    return 'belfry blackout list shows them; belfry blackout remove ends one.'
  if (code === 'task_ended') return 'Create it anew: belfry task create --help.'
  if (status === 404) return 'belfry task list and belfry run list show what there is.'
  if (code.startsWith('database_')) return 'Try again once that is done.'
  if (status === 503) return 'Try again in a moment; the log of the server tells more.'
  if (status >= 500) return 'Look for the request in the log of the server.'
  return 'Correct it and try again; --help shows examples.'
}

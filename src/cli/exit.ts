/** How the program ends, as shells see it. docs/reference/exit-codes.md explains each one. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unauthorised: 4,
  conflict: 5,
  unreachable: 6,
  runFailed: 7,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** What else is known of a failure. */
export interface FailureDetails {
  /** What was wrong in particular, a line each. */
  readonly why?: readonly string[]
  /** The server's own code for it, and the request in its log. */
  readonly code?: string
}

/** A failure told in one sentence, with what to do about it. It ends the program without a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly hint: string
  readonly exitCode: ExitCode
  readonly details: FailureDetails

  constructor(message: string, hint: string, exitCode: ExitCode = EXIT.failed, details: FailureDetails = {}) {
    super(message)
    this.hint = hint
    this.exitCode = exitCode
    this.details = details
  }
}

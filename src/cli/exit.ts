/** Exit codes of the program, documented in docs/reference/exit-codes.md. */
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

/** Further details of an error. */
export interface FailureDetails {
  /** The individual problems, one per line. */
  readonly why?: readonly string[]
  /** Error code of the server, with the request id for its log. */
  readonly code?: string
}

/** An error with a one-sentence message and a hint about what to do. It ends the program without a stack trace. */
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

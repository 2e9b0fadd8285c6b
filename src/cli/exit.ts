/** How the program ends, as shells see it. docs/reference/exit-codes.md explains each one. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unauthorised: 4,
  conflict: 5,
  unreachable: 6,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** A failure told in one sentence, with what to do about it. It ends the program without a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly hint: string
  readonly exitCode: ExitCode

  constructor(message: string, hint: string, exitCode: ExitCode = EXIT.failed) {
    super(message)
    this.hint = hint
    this.exitCode = exitCode
  }
}

/** Why a suite cannot run, in a sentence for the person who started it. The exit code is 2 for wrong arguments. */
export class SuiteError extends Error {
  /**
   * @param {string} message
   * @param {{ exitCode: 1 | 2 }} options
   */
  constructor(message, { exitCode }) {
    super(message)
    this.exitCode = exitCode
  }
}

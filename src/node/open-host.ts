/** The API would listen where others can reach it, and there is no key that they would need. */
export class OpenHostError extends Error {
  override readonly name = 'OpenHostError'
  readonly host: string

  constructor(host: string) {
    super(`no API key exists, so anyone who can reach ${host} could use Belfry`)
    this.host = host
  }
}

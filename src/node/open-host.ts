/** Others could reach the API, and there is no key that they would need. */
export class OpenHostError extends Error {
  override readonly name = 'OpenHostError'
  readonly host: string
  /** The setting that tells of a proxy; null where it is the host itself that others reach. */
  readonly proxy: string | null

  constructor(host: string, proxy: string | null) {
    super(
      `no API key exists, so anyone who can reach ${host}${proxy === null ? '' : ' through the proxy'} could use Belfry`,
    )
    this.host = host
    this.proxy = proxy
  }
}

/** Other machines could reach the API, and there is no API key to protect it. */
export class OpenHostError extends Error {
  override readonly name = 'OpenHostError'
  readonly host: string
  /** The setting that indicates a proxy; null if other machines can reach the host itself. */
  readonly proxy: string | null

  constructor(host: string, proxy: string | null) {
    super(
      `no API key exists, so anyone who can reach ${host}${proxy === null ? '' : ' through the proxy'} could use Belfry`,
    )
    this.host = host
    this.proxy = proxy
  }
}

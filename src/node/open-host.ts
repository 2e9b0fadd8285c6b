/** Other machines could reach the API, and nobody could administer it: there is no API key yet, or no valid one of an admin. */
export class OpenHostError extends Error {
  override readonly name = 'OpenHostError'
  readonly host: string
  /** The setting that indicates a proxy; null if other machines can reach the host itself. */
  readonly proxy: string | null

  constructor(host: string, proxy: string | null) {
    super(
      `the installation has no valid admin key, but others can reach ${host}${proxy === null ? '' : ' through the proxy'}`,
    )
    this.host = host
    this.proxy = proxy
  }
}

/** A setting that cannot be used. The message names it, the reason, and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

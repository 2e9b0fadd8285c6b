/** A setting that cannot be used; its message says which, why and what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The definition of a setting, and the kinds of values that settings have. */

/** A setting of a node. The default applies if it is not set. */
export interface Setting<T> {
  readonly default: T
  readonly help: string
  /** An interval or limit that few users change; the help only names it. */
  readonly isCadence?: true
  /** Needed only by a server that other machines can reach; the help only names it. */
  readonly isForNetworks?: true
  /** Parses a text or a TOML value. Throws an error whose message states what is allowed. */
  parse(value: unknown): T
}

export const text = (help: string): Setting<string | null> => ({
  default: null,
  help,
  parse: (value) => (typeof value === 'string' && value !== '' ? value : fail('must not be empty')),
})

export const whole = (fallback: number, min: number, max: number, help: string): Setting<number> => ({
  default: fallback,
  help,
  parse: (value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number
    return fail(`must be a whole number from ${min} to ${max}`)
  },
})

export const cadence = (...figure: Parameters<typeof whole>): Setting<number> => ({
  ...whole(...figure),
  isCadence: true,
})

/** Marks a setting that the help only names. */
export const hidden = <T>(setting: Setting<T>): Setting<T> => ({ ...setting, isCadence: true })

export const forNetworks = <T>(setting: Setting<T>): Setting<T> => ({ ...setting, isForNetworks: true })

export const oneOf = <T extends string>(allowed: readonly T[], fallback: T, help: string): Setting<T> => ({
  default: fallback,
  help,
  parse: (value) => allowed.find((item) => item === value) ?? fail(`must be one of ${allowed.join(', ')}`),
})

export const flag = (help: string): Setting<boolean> => ({
  default: false,
  help,
  parse: (value) => {
    if (value === true || value === 'true') return true
    return value === false || value === 'false' ? false : fail('must be true or false')
  },
})

/** Splits text at commas; other values, such as a TOML array, are returned unchanged. */
export const listed = (value: unknown): unknown =>
  typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value

/** Rejects a value. The reason is worded to follow "it". */
export function fail(reason: string): never {
  throw new Error(reason)
}

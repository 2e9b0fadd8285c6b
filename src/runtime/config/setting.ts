/** What a setting is, and the kinds of values that settings have. */

/** A setting of a node: where it is not set, its default holds. */
export interface Setting<T> {
  readonly default: T
  readonly help: string
  /** A figure of the engine, which few will change: help gives its name and no more. */
  readonly isCadence?: true
  /** For a server that others than this machine reach: help gives its name and no more. */
  readonly isForNetworks?: true
  /** The value of a text or of a TOML value; throws a sentence that says what is allowed. */
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

/** Help gives its name and no more. */
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

/** A list of texts, written with commas or as a list. */
export const listed = (value: unknown): unknown =>
  typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value

/** Refuses a value: the reason continues "it …". */
export function fail(reason: string): never {
  throw new Error(reason)
}

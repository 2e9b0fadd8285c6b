/** The outcome of a run in a few words. */

interface Told {
  readonly output: unknown
  readonly error: unknown
}

/** `HTTP 200` for a response, the message for an error, and an empty text if there is neither. */
export function outcomeWords({ output, error }: Told): string {
  const message = memberOf(error, 'message')
  if (typeof message === 'string') return message
  const status = memberOf(output, 'status')
  return typeof status === 'number' ? `HTTP ${status}` : ''
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

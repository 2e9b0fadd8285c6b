/** What came of a run, in a few words. */

interface Told {
  readonly output: unknown
  readonly error: unknown
}

/** `200 OK`-like for what was answered, the message for what failed, nothing where there is nothing to say. */
export function outcomeWords({ output, error }: Told): string {
  const message = memberOf(error, 'message')
  if (typeof message === 'string') return message
  const status = memberOf(output, 'status')
  return typeof status === 'number' ? `HTTP ${status}` : ''
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

let lastMs = 0
let lastText = new Date(0).toISOString()

/** Instants as text: RFC 3339 in UTC, with milliseconds. Tasks that are made together share most of theirs. */
export function utc(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}

export const utcOrNull = (ms: number | null): string | null => (ms === null ? null : utc(ms))

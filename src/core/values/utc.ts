/** Instants as text: RFC 3339 in UTC, with milliseconds. */
export const utc = (ms: number): string => new Date(ms).toISOString()

export const utcOrNull = (ms: number | null): string | null => (ms === null ? null : utc(ms))

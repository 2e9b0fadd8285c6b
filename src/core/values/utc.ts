/**
 * Formats an instant: RFC 3339 in UTC, with milliseconds. The latest result is cached, because tasks that are created together
 * share most of their instants.
 */
export function utc(ms: number): string {
  if (ms === latest.ms) return latest.text
  ;[latest, earlier] = [earlier, latest]
  if (ms !== latest.ms) latest = { ms, text: new Date(ms).toISOString() }
  return latest.text
}

let latest = { ms: 0, text: new Date(0).toISOString() }
let earlier = latest

export const utcOrNull = (ms: number | null): string | null => (ms === null ? null : utc(ms))

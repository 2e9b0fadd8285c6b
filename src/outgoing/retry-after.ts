/** The longest wait a receiver can ask for. */
export const MAX_RETRY_AFTER_MS = 3_600_000

const SECONDS = /^\d{1,15}$/
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{1,40} GMT$/

/**
 * Returns the delay that `Retry-After` asks for in milliseconds, capped; undefined if it cannot be parsed. A date is compared
 * with the response's own `Date` if there is one, so that neither clock has to be right.
 */
export function parseRetryAfter(
  value: string,
  { date, now }: { date: string | undefined; now: number },
): number | undefined {
  const text = value.trim()
  if (SECONDS.test(text)) return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS)
  const until = parseHttpDate(text)
  if (until === undefined) return undefined
  const sentAt = (date === undefined ? undefined : parseHttpDate(date)) ?? now
  return Math.min(Math.max(until - sentAt, 0), MAX_RETRY_AFTER_MS)
}

function parseHttpDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}

/** Instants as they are typed: as the API takes them, or so long from now (`--until 2h`), or ago (`--since 5m`). */
import { parseDuration } from '../../core/values/duration.ts'
import type { Server } from './server.ts'

/** What looks like no duration goes as it is: the server names the field and what would be right. */
export function instantFromNow(text: string, server: Server): string {
  const parsed = parseDuration(text)
  return parsed.ok ? new Date(server.now() + parsed.ms).toISOString() : text
}

export function instantAgo(text: string, server: Server): string {
  const parsed = parseDuration(text)
  return parsed.ok ? new Date(server.now() - parsed.ms).toISOString() : text
}

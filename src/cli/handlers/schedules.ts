import type { Preview } from '../../api/resources/schedules/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatDistance, formatInstant } from '../../core/words/time.ts'
import { readNumber, usage } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { table } from '../client/printed.ts'
import { naming } from '../client/refusal.ts'
import { hasAssumedZone, machineZone, readSchedule, zoneNote } from '../client/schedule-flags.ts'
import { type Flags, flagAt } from '../client/task-flags.ts'

const NOTES_SHOWN = 5

export async function previewSchedule(words: string | undefined, flags: Flags & ClientFlags): Promise<void> {
  const asked = withWords(words, flags)
  const { startAt, endAt, from, count, seed, jitter } = asked
  const request = {
    schedule: readSchedule(asked, undefined),
    ...{ startAt, endAt, from, seed, jitter },
    count: count === undefined ? undefined : readNumber(String(count)),
  }
  if (request.schedule === undefined)
    throw usage(
      'No schedule was given.',
      "Such as: belfry schedule preview 'every weekday at 9:30', or use --cron",
    )
  const server = serverFrom(flags)
  const preview = await naming(
    (pointer) => flagOf(pointer, asked),
    'belfry schedule preview --help',
    () => server.post<Preview>('/v1/schedules/preview', request),
  )
  give(preview, flags, () => previewText(preview, hasAssumedZone(asked), server.now()))
}

/** Treats a positional argument as the value of `--schedule`. */
function withWords(words: string | undefined, flags: Flags & ClientFlags): Flags & ClientFlags {
  if (words === undefined) return flags
  if (flags['schedule'] === undefined) return { ...flags, schedule: words }
  throw usage('A preview has one schedule; give either the words or --schedule.')
}

function flagOf(pointer: string, flags: Flags): string {
  const [, field = ''] = pointer.split('/')
  return ['from', 'count', 'seed', 'jitter'].includes(field) ? `--${field}` : flagAt(pointer, flags)
}

function previewText(preview: Preview, isZoneAssumed: boolean, now: number): string {
  const { description, timezone, occurrences, notes } = preview
  const zone = timezone ?? machineZone()
  const instant = (at: string) => formatInstant(Date.parse(at), zone, { now, precision: 'second' })
  const rows = occurrences.map(({ at, firesAt }) => [
    instant(at),
    ...(firesAt === undefined ? [] : [instant(firesAt)]),
    formatDistance(Date.parse(at), now),
    at,
  ])
  const isPutOff = occurrences.some(({ firesAt }) => firesAt !== undefined)
  return [
    `${printable(description)}${zoneNote(timezone, isZoneAssumed)}\n`,
    rows.length === 0
      ? 'No more occurrences after this time.\n'
      : table(['DUE', ...(isPutOff ? ['FIRES'] : []), 'WHEN', 'UTC'], rows),
    ...notes.slice(0, NOTES_SHOWN).map(({ note }) => `note: ${printable(note)}\n`),
  ].join('')
}

/** Shows instants, always with their zone; other zones and the raw instant are available on hover. */
import { useSearch } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import {
  describeInstant,
  formatDistance,
  formatInstant,
  type InstantStyle,
} from '../../src/core/words/time.ts'
import { serverNow, useNow } from '../time/clock.ts'
import { myZone, shownZone, UTC, type ZoneMode } from '../time/zone.ts'
import { tell } from './toast.tsx'

/** The time zone in which to show the times of a task, according to the user's choice. */
export function useShownZone(own: string | null | undefined): string {
  const { tz = 'task' } = useSearch({ strict: false }) as { tz?: ZoneMode }
  return shownZone(tz, own)
}

interface InstantProps {
  readonly at: string | number
  /** The zone of the task it belongs to. */
  readonly zone?: string | null | undefined
  readonly precision?: InstantStyle['precision']
}

export function Instant({ at, zone, precision }: InstantProps) {
  const shown = useShownZone(zone)
  const ms = typeof at === 'number' ? at : Date.parse(at)
  const now = serverNow()
  const iso = new Date(ms).toISOString()
  const zones = [shown, ...(zone ? [zone] : []), myZone(), UTC]
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a short cut for the mouse; the same text can be selected.
    <time
      dateTime={iso}
      title={`${describeInstant(ms, zones, now)}\nClick to copy`}
      onClick={(event) => void copy(event, iso)}
    >
      {formatInstant(ms, shown, { now, ...(precision ? { precision } : {}) })}
    </time>
  )
}

/** Clicking an instant copies it in ISO format, unless it is inside a link or button. */
async function copy(event: MouseEvent, iso: string): Promise<void> {
  if ((event.target as HTMLElement).closest('a, button') !== null || !navigator.clipboard) return
  await navigator.clipboard.writeText(iso)
  tell({ text: `Copied ${iso}.` })
}

/** The distance to an instant by the server's clock, updated each second. */
export function Distance({ at }: { readonly at: string | number }) {
  const now = useNow()
  return <span>{formatDistance(typeof at === 'number' ? at : Date.parse(at), now)}</span>
}

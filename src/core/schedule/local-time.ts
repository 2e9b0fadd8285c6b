import { LRUCache } from 'lru-cache'

const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: 200 })

/** An instant on the wall clock of a zone, with its offset: `2026-11-16T09:00:00.000+01:00`. */
export function localTime(ms: number, timeZone: string): string {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    formats.set(timeZone, format)
  }
  const name = format.formatToParts(ms).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const offset = name === 'GMT' ? '+00:00' : name.slice(3)
  const [hours = '00', minutes = '00', seconds = '00'] = offset.slice(1).split(':')
  const sign = offset.startsWith('-') ? -1 : 1
  const shift = sign * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
  return new Date(ms + shift).toISOString().slice(0, -1) + offset
}

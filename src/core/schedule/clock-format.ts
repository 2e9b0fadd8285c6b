/**
 * Returns a formatter that writes the local time of an instant in a zone: `MM/DD/YYYY, HH:MM:SS`. Creating one is expensive, so
 * callers should keep it.
 */
export const clockFormat = (zone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })

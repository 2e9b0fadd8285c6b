/** Time zones: the user's own, their short names, and the list to choose from. */

export const UTC = 'UTC'

/** The time zone of this browser. */
export const myZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || UTC

/** UTC first, then the given zones, then every zone that the browser knows. The browser's list does not include UTC. */
export function zoneChoices(...first: readonly string[]): string[] {
  return [...new Set([UTC, ...first.filter((zone) => zone !== ''), ...Intl.supportedValuesOf('timeZone')])]
}

/** The zone of shown times: the task's own, the user's, or UTC. */
export const ZONE_MODES = ['task', 'mine', 'utc'] as const
export type ZoneMode = (typeof ZONE_MODES)[number]

/** Objects without a zone use the user's. */
export function shownZone(mode: ZoneMode, own: string | null | undefined): string {
  if (mode === 'utc') return UTC
  return mode === 'mine' ? myZone() : (own ?? myZone())
}

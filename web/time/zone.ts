/** Time zones: the reader's own, how they are called, and which ones there are to choose from. */

export const UTC = 'UTC'

/** The zone this browser is in. */
export const myZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || UTC

/** UTC first, then the ones given, then every zone the browser knows. Its list has no UTC of its own. */
export function zoneChoices(...first: readonly string[]): string[] {
  return [...new Set([UTC, ...first.filter((zone) => zone !== ''), ...Intl.supportedValuesOf('timeZone')])]
}

/** Whose clock times are shown in: the task's own, the reader's, or UTC. */
export const ZONE_MODES = ['task', 'mine', 'utc'] as const
export type ZoneMode = (typeof ZONE_MODES)[number]

/** Things without a zone are shown in the reader's. */
export function shownZone(mode: ZoneMode, own: string | null | undefined): string {
  if (mode === 'utc') return UTC
  return mode === 'mine' ? myZone() : (own ?? myZone())
}

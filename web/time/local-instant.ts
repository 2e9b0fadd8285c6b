/** Instants in date fields of the browser, which know nothing of zones. */

/** An instant as the date field of this browser shows it. */
export function localOf(at: string | null): string {
  if (at === null) return ''
  const date = new Date(at)
  const wall = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return wall.toISOString().slice(0, date.getTime() % 60_000 === 0 ? 16 : 23)
}

/** What that date field stands for; text that is no date goes as it is, so that the API says so. */
export function instantOf(local: string): string {
  const date = new Date(local)
  return Number.isNaN(date.getTime()) ? local : date.toISOString()
}

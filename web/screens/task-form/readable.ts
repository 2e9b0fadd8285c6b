/** What a date field can show; anything else it would leave out in silence. */
export const readable = (at: unknown): string =>
  typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? at : ''

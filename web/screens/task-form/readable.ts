/** Returns only what a date field can show; the field would ignore anything else. */
export const readable = (at: unknown): string =>
  typeof at === 'string' && !Number.isNaN(Date.parse(at)) ? at : ''

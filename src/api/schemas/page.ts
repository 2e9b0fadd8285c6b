import { z } from 'zod'

/** A page of a list. */
export const Limit = z.coerce
  .number({ error: 'must be a whole number from 1 to 200' })
  .int('must be a whole number from 1 to 200')
  .min(1, 'must be from 1 to 200')
  .max(200, 'must be from 1 to 200')
  .default(50)

export const Cursor = z.string().max(400).optional().describe('`nextCursor` of the page before.')

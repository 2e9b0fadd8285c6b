/** The query parameters of paginated lists. */
import { z } from 'zod'

const RANGE = { minimum: 1, maximum: 200, default: 50 }
const rule = `must be a whole number from ${RANGE.minimum} to ${RANGE.maximum}`

/** The number of items per page. Queries are text, so the digits are checked before the conversion to a number. */
export const Limit = z
  .string(rule)
  .regex(/^\d{1,3}$/, rule)
  .transform(Number)
  .refine((limit) => limit >= RANGE.minimum && limit <= RANGE.maximum, rule)
  .default(RANGE.default)
  .meta({
    type: 'integer',
    ...RANGE,
    description: `Maximum number of items to return. Default ${RANGE.default}.`,
  })

export const Cursor = z.string().min(1).max(400).optional().describe('`nextCursor` of the previous page.')

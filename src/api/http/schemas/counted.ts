import { z } from 'zod'

/** A count that stops at a bound: if counting all would be expensive, the result is a lower bound. */
export const Counted = z
  .object({
    count: z.int(),
    atLeast: z
      .boolean()
      .describe('True if counting stopped at this number; the actual number may be higher.'),
  })
  .meta({ id: 'Counted' })

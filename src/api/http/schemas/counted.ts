import { z } from 'zod'

/** A count that stops at a bound: what cannot be counted cheaply is told to be at least so much. */
export const Counted = z
  .object({
    count: z.int(),
    atLeast: z
      .boolean()
      .describe('True if counting stopped at this number; the actual number may be higher.'),
  })
  .meta({ id: 'Counted' })
export type Counted = z.output<typeof Counted>

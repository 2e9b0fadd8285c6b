import { z } from 'zod'

/** What every answer that is not a success looks like (RFC 9457). */
export const ProblemDocument = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('Stable; see the list of error codes in the documentation.'),
    instance: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .catchall(z.unknown())
  .meta({ id: 'Problem' })

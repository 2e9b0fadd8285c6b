import { z } from 'zod'
import { Uuid } from '../../../operations/validation/values.ts'

export const FindIds = z.strictObject({
  prefix: z
    .string()
    .regex(/^[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}$/, 'must be at least the first 8 characters of an id')
    .describe('How the id begins, with or without its dashes.')
    .meta({ example: '01a1e128-d4' }),
  type: z.enum(['task', 'run']).describe('What to look for.'),
})

export const FoundId = z
  .object({
    id: Uuid,
    type: z.enum(['task', 'run']),
    name: z.string().nullable().describe('The name of the task, or its key when it has none.'),
  })
  .meta({ id: 'FoundId' })
export type FoundId = z.output<typeof FoundId>

export const FoundIds = z
  .object({
    items: z.array(FoundId).describe('By id, at most 10.'),
    hasMore: z.boolean().describe('Whether further ids begin like this.'),
  })
  .meta({ id: 'FoundIds' })
export type FoundIds = z.output<typeof FoundIds>

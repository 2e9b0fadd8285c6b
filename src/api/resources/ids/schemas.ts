import { z } from 'zod'
import { Uuid } from '../../../operations/validation/values.ts'

export const FindIds = z.strictObject({
  prefix: z
    .string()
    .regex(/^[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}$/, 'must be at least the first 8 characters of an id')
    .describe('First characters of the id, with or without dashes.')
    .meta({ example: '01a1e128-d4' }),
  type: z.enum(['task', 'run', 'file']).describe('Type of object to find.'),
})

export const FoundId = z
  .object({
    id: Uuid,
    type: z.enum(['task', 'run', 'file']),
    name: z.string().nullable().describe('Name of the task or file; of a task without a name, its key.'),
  })
  .meta({ id: 'FoundId' })
export type FoundId = z.output<typeof FoundId>

export const FoundIds = z
  .object({
    items: z.array(FoundId).describe('At most 10, ordered by id.'),
    hasMore: z.boolean().describe('Whether more ids start with these characters.'),
  })
  .meta({ id: 'FoundIds' })
export type FoundIds = z.output<typeof FoundIds>

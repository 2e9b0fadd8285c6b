/** The bodies of edits: only the fields to change are named, and at least one must be. */
import { z } from 'zod'

export const editOf = <Fields extends z.core.$ZodLooseShape>(fields: Fields) =>
  z
    .strictObject(fields)
    .refine((edit) => Object.keys(edit).length > 0, 'must name at least one field to change')

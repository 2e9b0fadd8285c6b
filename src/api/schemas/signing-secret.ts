import { z } from 'zod'
import { durationBetween, Uuid } from './values.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MONTH_MS = 30 * 86_400_000

const fields = {
  id: Uuid,
  createdAt: Stored,
  expiresAt: Stored.nullable().describe('When it stops being used; null for one that nothing has replaced.'),
}

export const SigningSecret = z.object(fields).meta({ id: 'SigningSecret' })
export type SigningSecret = z.output<typeof SigningSecret>

export const NewSigningSecret = z
  .object({
    ...fields,
    secret: z
      .string()
      .describe('What receivers verify with. It is shown in this answer and never again.')
      .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }),
  })
  .meta({ id: 'NewSigningSecret' })
export type NewSigningSecret = z.output<typeof NewSigningSecret>

export const RotateSigningSecret = z
  .strictObject({
    keepOldFor: durationBetween(0, MONTH_MS, 'from 0s to 30d')
      .optional()
      .describe('For how long requests carry signatures of the old secret too. Default 1d.'),
  })
  .nullish()
  .meta({ id: 'RotateSigningSecret' })

export const SigningSecretList = z.object({ items: z.array(SigningSecret) }).meta({ id: 'SigningSecretList' })

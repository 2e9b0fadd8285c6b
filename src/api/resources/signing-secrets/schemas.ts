import { z } from 'zod'
import { parseOrigin } from '../../../core/values/origin.ts'
import { durationBetween, Uuid } from '../../../operations/validation/values.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MONTH_MS = 30 * 86_400_000

/** The longest host name, with a scheme and a port. */
const MAX_ORIGIN_LENGTH = 300

const Origin = z
  .string()
  .max(MAX_ORIGIN_LENGTH)
  .superRefine((text, context) => {
    const parsed = parseOrigin(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: 'https://hooks.example.com' })

const BoundTo = Origin.nullish().describe(
  'Scheme, host and port. Requests to this origin are signed with this secret instead of the secrets of the project.',
)

const fields = {
  id: Uuid,
  origin: z
    .string()
    .nullable()
    .describe('Origin whose requests the secret signs; null for all origins without their own secrets.')
    .meta({ example: 'https://hooks.example.com' }),
  createdAt: Stored,
  expiresAt: Stored.nullable().describe('When the secret expires; null if it has not been rotated.'),
}

export const SigningSecret = z.object(fields).meta({ id: 'SigningSecret' })
export type SigningSecret = z.output<typeof SigningSecret>

export const NewSigningSecret = z
  .object({
    ...fields,
    secret: z
      .string()
      .describe('Value that receivers verify signatures with. Returned only in this response.')
      .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }),
  })
  .meta({ id: 'NewSigningSecret' })
export type NewSigningSecret = z.output<typeof NewSigningSecret>

export const CreateSigningSecret = z
  .strictObject({ origin: BoundTo })
  .nullish()
  .meta({ id: 'CreateSigningSecret' })

export const RotateSigningSecret = z
  .strictObject({
    origin: BoundTo,
    keepOldFor: durationBetween(0, MONTH_MS, 'from 0s to 30d')
      .optional()
      .describe('How long requests also carry signatures of the old secret. Default 1d.'),
  })
  .nullish()
  .meta({ id: 'RotateSigningSecret' })

export const ListSigningSecrets = z.strictObject({
  origin: Origin.optional().describe('Only the secrets of this origin.'),
})

export const SigningSecretList = z.object({ items: z.array(SigningSecret) }).meta({ id: 'SigningSecretList' })

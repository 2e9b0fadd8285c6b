import { z } from 'zod'

/** Longer than any key; longer input is rejected before it is hashed. */
const MAX_KEY_CHARACTERS = 1_000

export const SignInWithKey = z
  .strictObject({ key: z.string().min(1).max(MAX_KEY_CHARACTERS).describe('API key.') })
  .meta({ id: 'SignInWithKey' })

export const SignInMethods = z
  .object({
    isOpen: z.boolean().describe('True if the server needs no sign-in, because it has no API key yet.'),
    openid: z
      .object({ name: z.string().describe('Host name of the identity provider.') })
      .nullable()
      .describe('Null if signing in with a company account is not configured.'),
  })
  .meta({
    id: 'SignInMethods',
    example: { isOpen: false, openid: { name: 'login.example.com' } },
  })
export type SignInMethods = z.output<typeof SignInMethods>

export const SignedOut = z
  .object({ sessions: z.int().describe('Number of sessions that were ended.') })
  .meta({ id: 'SignedOut', example: { sessions: 3 } })

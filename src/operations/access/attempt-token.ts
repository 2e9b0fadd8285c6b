import type { TokenAttempt } from '../../core/access/token-attempt.ts'
import { Refusal } from '../../core/errors.ts'
import { isAttemptToken, verifyAttemptToken } from '../../secrets/attempt-token.ts'
import type { Facilities } from '../context.ts'

/**
 * Returns the attempt that a bearer token was issued for; null if the token is of another kind. The caller must check by the
 * fence whether that attempt is still in progress.
 */
export async function attemptOfToken(
  { addresses }: Pick<Facilities, 'addresses'>,
  token: string | null,
): Promise<TokenAttempt | null> {
  if (token === null || !isAttemptToken(token)) return null
  const verified = await verifyAttemptToken(addresses, token)
  if (verified.ok) return verified.attempt
  throw new Refusal('unknown_token', `The attempt token ${verified.reason}.`)
}

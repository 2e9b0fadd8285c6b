/**
 * Tokens of single attempts, for programs on machines that are not trusted. A token names one attempt of one worker, and
 * expires with it. It cannot show that the attempt is still in progress: a handler that accepts one compares its fence with the
 * agenda.
 */
import type { SignedClaims } from '../core/access/signed-claims.ts'
import type { TokenAttempt } from '../core/access/token-attempt.ts'
import { isUuid } from '../core/ids.ts'
import type { AddressSigner } from './address-signer.ts'

const PURPOSE = 'attempt'

export type VerifiedAttempt =
  | { readonly ok: true; readonly attempt: TokenAttempt }
  /** Completes a sentence that begins with `The attempt token`. */
  | { readonly ok: false; readonly reason: string }

/** Returns whether a bearer token is an attempt token; tokens of workers and API keys have other forms. */
export const isAttemptToken = (token: string): boolean => token.split('.').length === 3

export function issueAttemptToken(
  addresses: Pick<AddressSigner, 'sign'>,
  { runId, ...rest }: TokenAttempt,
  expiresAt: number,
): Promise<string> {
  return addresses.sign(PURPOSE, { ...rest, subject: runId }, expiresAt)
}

export async function verifyAttemptToken(
  addresses: Pick<AddressSigner, 'verify'>,
  token: string,
): Promise<VerifiedAttempt> {
  const verified = await addresses.verify(PURPOSE, token)
  if (!verified.ok) return verified
  const attempt = attemptOf(verified.claims)
  return attempt ? { ok: true, attempt } : { ok: false, reason: 'does not name an attempt' }
}

function attemptOf(claims: SignedClaims): TokenAttempt | null {
  const { subject: runId, projectId, taskId, attempt, fence, workerId, hostId, podName, tracingId } = claims
  const ids = [runId, projectId, taskId, workerId, hostId]
  const isWhole =
    ids.every((id) => typeof id === 'string' && isUuid(id)) &&
    typeof attempt === 'number' &&
    typeof fence === 'number' &&
    typeof podName === 'string'
  return isWhole
    ? {
        projectId,
        runId,
        attempt,
        fence,
        podName,
        taskId: String(taskId),
        workerId: String(workerId),
        hostId: String(hostId),
        tracingId: typeof tracingId === 'string' ? tracingId : null,
      }
    : null
}

/**
 * Why a sign-in through the provider failed. The address of the sign-in page contains only the code, so nobody can place text
 * of their own on the page.
 */
export const SIGN_IN_FAILURES = {
  provider_unreachable:
    'The identity provider does not respond. Try again in a moment, or sign in with an API key.',
  provider_refused: 'The identity provider rejected the request. The server log contains the reason.',
  denied: 'The identity provider denied access.',
  invalid_response:
    'The response of the identity provider is not valid. Try again. If this happens again, see the server log.',
  expired: 'This sign-in took too long, or was started in another browser or tab. Sign in again.',
  not_configured: 'Signing in with a company account is not configured on this server.',
} as const

export type SignInFailure = keyof typeof SIGN_IN_FAILURES

export const isSignInFailure = (text: unknown): text is SignInFailure =>
  typeof text === 'string' && Object.hasOwn(SIGN_IN_FAILURES, text)

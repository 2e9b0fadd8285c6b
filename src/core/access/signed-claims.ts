/** What an address or a token says that is good by itself. Members that are not named here are the business of its purpose. */
export interface SignedClaims {
  /** The id of what it is about. */
  readonly subject: string
  readonly projectId: string
  /** The API key that it was signed for, and without which it is good for nothing; absent or null where there was none. */
  readonly keyId?: string | null
  readonly [claim: string]: unknown
}

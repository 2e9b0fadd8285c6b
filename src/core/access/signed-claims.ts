/** Claims of a signed URL or token, which is valid without a lookup. Further members depend on the purpose of the signature. */
export interface SignedClaims {
  /** The id of the object that the claims are about. */
  readonly subject: string
  readonly projectId: string
  /** The API key that the URL or token was signed for, and without which it is not valid; absent or null if there was none. */
  readonly keyId?: string | null
  /** The person that it was signed for, who is recorded with what is done with it; absent or null if there was none. */
  readonly personId?: string | null
  /** Set if it was signed for a caller who needed no key: it is valid only as long as the server is open. */
  readonly isOpen?: boolean
  readonly [claim: string]: unknown
}

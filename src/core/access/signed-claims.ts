/** What an address or a token says that is good by itself. Members that are not named here are the business of its purpose. */
export interface SignedClaims {
  /** The id of what it is about. */
  readonly subject: string
  readonly projectId: string
  readonly [claim: string]: unknown
}

/** Validation of the settings for signing in. The functions throw an error whose message states what is allowed. */

/** Data sent to a provider is secret, so TLS is required unless the provider is on this machine. */
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export function parseIssuer(value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error('must be the address of an issuer, such as https://login.example.com')
  if (url.username !== '' || url.password !== '') throw new Error('must not contain a user or a password')
  if (url.protocol === 'https:' || LOOPBACK_NAME.test(url.hostname)) return value as string
  throw new Error('must begin with https://; only an issuer on this machine may use http://')
}

/** The characters that RFC 6749 allows in a scope. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export function parseScopes(value: unknown): readonly string[] {
  const scopes = typeof value === 'string' ? value.split(/[\s,]+/).filter((scope) => scope !== '') : value
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string' && SCOPE.test(scope)))
    throw new Error('must be a list of scopes, such as openid,profile,email,groups')
  if (!scopes.includes('openid')) throw new Error('must contain openid')
  return [...new Set<string>(scopes)]
}

/** What the claims of a provider say about a person. */
import type { Identity } from '../../store/access/people.ts'

/** The claims, as the provider sends them. */
export type Claims = Readonly<Record<string, unknown>>

const MAX_EMAIL_CHARACTERS = 320
const MAX_NAME_CHARACTERS = 200
const MAX_GROUP_CHARACTERS = 200
/** Maximum number of groups; further ones are ignored: no rule should depend on a person being in more. */
export const MAX_GROUPS = 1_000

export function identityOf(
  claims: Claims & { readonly sub: string },
  issuer: string,
  groupsClaim: string,
): Identity {
  return {
    issuer,
    subject: claims.sub,
    email: verifiedEmail(claims),
    name: nameIn(claims),
    groups: groupsIn(claims, groupsClaim),
  }
}

/**
 * Returns the email address only if the provider has verified it: a person who can choose their address freely there must not
 * be able to impersonate another.
 */
function verifiedEmail({ email, email_verified }: Claims): string | null {
  const isVerified = email_verified === true || email_verified === 'true'
  if (!isVerified || typeof email !== 'string' || email.length > MAX_EMAIL_CHARACTERS) return null
  return /^[^\s@]+@[^\s@]+$/.test(email) ? email.toLowerCase() : null
}

function nameIn({ name, preferred_username }: Claims): string | null {
  const text = [name, preferred_username].find((value) => typeof value === 'string' && value.trim() !== '')
  return typeof text === 'string'
    ? text.replace(/\p{C}/gu, '').trim().slice(0, MAX_NAME_CHARACTERS) || null
    : null
}

/** The claim may be nested, such as `realm_access.roles`, but its name may also contain dots itself, such as a namespaced URL. */
export function groupsIn(claims: Claims, claim: string): string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : memberAt(claims, claim.split('.'))
  const values = Array.isArray(value) ? value : [value]
  const groups = values.filter((group) => typeof group === 'string' && isGroupName(group)) as string[]
  return [...new Set(groups)].slice(0, MAX_GROUPS)
}

export const isGroupName = (text: string): boolean =>
  text !== '' && text.length <= MAX_GROUP_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(text)

function memberAt(value: unknown, path: readonly string[]): unknown {
  let reached = value
  for (const name of path) {
    if (typeof reached !== 'object' || reached === null || !Object.hasOwn(reached, name)) return undefined
    reached = (reached as Record<string, unknown>)[name]
  }
  return reached
}

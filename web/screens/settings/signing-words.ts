/** What a signing secret is for, in words. */
import type { SigningSecret } from '../../api/signing-secrets.ts'

/** Whose requests it signs. */
export const originName = (origin: string | null): string => origin ?? 'All origins without their own secrets'

/** The same within a sentence. */
export const requestsTo = (origin: string | null): string =>
  `requests to ${originName(origin).replace(/^A/, 'a')}`

/** What signs when a secret is revoked, as the end of a sentence. */
export function afterRevoking({ id, origin }: SigningSecret, all: readonly SigningSecret[]): string {
  const isLeft = (of: string | null) => all.some((other) => other.id !== id && other.origin === of)
  const what = requestsTo(origin)
  if (isLeft(origin)) return `${what} are signed with the other secret only.`
  if (origin !== null && isLeft(null)) return `${what} will be signed with the secrets of the project.`
  return `${what} are no longer signed.`
}

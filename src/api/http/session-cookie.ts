/**
 * Cookies of the dashboard. Over HTTPS their names begin with `__Host-`, which browsers accept only from and for this host, and
 * only over an encrypted connection, so no neighbouring host can plant one.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The session, and the state of a sign-in while the person is at the provider. */
export type CookieName = 'belfry' | 'belfry-sign-in'

/** Returns whether the browser uses HTTPS, as far as that is known: a proxy that is not trusted may have terminated it. */
export function isSecure(request: FastifyRequest, publicUrl: string | null): boolean {
  if (request.protocol === 'https') return true
  if (publicUrl === null || !publicUrl.startsWith('https:')) return false
  return request.headers.host?.toLowerCase() === new URL(publicUrl).host
}

const fullName = (name: CookieName, secure: boolean) => (secure ? `__Host-${name}` : name)

/** Returns the value of a cookie; null if it is absent. */
export function cookieOf(request: FastifyRequest, name: CookieName, publicUrl: string | null): string | null {
  const wanted = `${fullName(name, isSecure(request, publicUrl))}=`
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const text = pair.trim()
    if (text.startsWith(wanted)) return text.slice(wanted.length)
  }
  return null
}

/** A cookie to set. */
export interface Cookie {
  readonly name: CookieName
  readonly value: string
  /** 0 deletes the cookie. */
  readonly maxAgeSeconds: number
}

/**
 * SameSite is Lax: the browser sends the cookie when a person follows a link to this server, such as the redirect from the
 * provider, but not with requests that other sites make.
 */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, value, maxAgeSeconds }: Cookie,
  publicUrl: string | null,
): void {
  const secure = isSecure(request, publicUrl)
  const parts = [
    `${fullName(name, secure)}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    `Max-Age=${maxAgeSeconds}`,
  ]
  reply.header('set-cookie', [...parts, ...(secure ? ['Secure'] : [])].join('; '))
}

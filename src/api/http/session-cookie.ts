/**
 * Cookies of the dashboard. Over HTTPS their names begin with `__Host-`, which browsers accept only for this host and from
 * this host, and only encrypted; so no neighbouring host can plant one.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The session, and what is needed while somebody is at the provider. */
export type CookieName = 'belfry' | 'belfry-sign-in'

/** Whether the browser came over HTTPS, as far as it can be known: a proxy that is not trusted may have ended it. */
export function isSecure(request: FastifyRequest, publicUrl: string | null): boolean {
  if (request.protocol === 'https') return true
  if (publicUrl === null || !publicUrl.startsWith('https:')) return false
  return request.headers.host?.toLowerCase() === new URL(publicUrl).host
}

const fullName = (name: CookieName, secure: boolean) => (secure ? `__Host-${name}` : name)

/** The value of a cookie; null without it. */
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
  /** 0 removes it. */
  readonly maxAgeSeconds: number
}

/** Lax: the browser sends it when somebody follows a link to us, as the provider's answer is one, but not with what other sites load. */
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

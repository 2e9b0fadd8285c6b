/**
 * Sign-in to the dashboard. The browser is redirected to the provider and back. The state of the sign-in is kept in a separate
 * cookie for some minutes, so any node can finish what another one began. Errors redirect to the sign-in page, with a code for
 * which that page has a message.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignInFailure } from '../../../core/access/sign-in-failure.ts'
import { SIGN_IN_PAGE } from '../../../core/access/sign-in-page.ts'
import { INSTALLATION_ID } from '../../../core/audit-log/audit-entry.ts'
import { Refusal } from '../../../core/errors.ts'
import { returnPath } from '../../../core/values/return-path.ts'
import type { KeyBook } from '../../../operations/keys/key-book.ts'
import {
  CALLBACK_PATH,
  type OpenIdProvider,
  SignInError,
  type StartedSignIn,
} from '../../../operations/people/openid-provider.ts'
import {
  signInPerson,
  signInWithKey,
  signOut,
  signOutEverywhere,
} from '../../../operations/people/sign-in.ts'
import { SignInAttempts } from '../../../operations/people/sign-in-attempts.ts'
import type { SessionBook } from '../../../operations/sessions/session-book.ts'
import type { Queryable } from '../../../store/database/database.ts'
import type { App } from '../../app.ts'
import { isForwarded } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { cookieOf, setCookie } from '../../http/session-cookie.ts'
import { SignedOut, SignInMethods, SignInWithKey } from './schemas.ts'

export interface SignInOptions {
  readonly keys: KeyBook
  readonly sessions: SessionBook
  /** Null if people sign in with keys only. */
  readonly provider: OpenIdProvider | null
  readonly publicUrl: string | null
}

const tags = ['sign-in']
/** Maximum time that a person may take at the provider. */
const STARTED_SECONDS = 900

const methods = {
  operationId: 'getSignInMethods',
  tags,
  summary: 'Show how people can sign in at the dashboard',
  response: { 200: SignInMethods, ...problems() },
}

const withKey = {
  operationId: 'signInWithKey',
  tags,
  summary: 'Begin a session with an API key',
  description: 'The session is a cookie for browsers. Programs send the key with each request instead.',
  body: SignInWithKey,
  response: {
    204: z.null().describe('The session has begun; its token is in the cookie `belfry` or `__Host-belfry`.'),
    ...problems(413, 415, 429),
  },
}

const out = {
  operationId: 'signOut',
  tags,
  summary: 'End the session of this browser',
  response: { 204: z.null().describe('The session has ended, if there was one.'), ...problems() },
}

const everywhere = {
  operationId: 'signOutEverywhere',
  tags,
  summary: 'End all sessions of the person, or of the API key, that is signed in',
  response: { 200: SignedOut, ...problems() },
}

const config = { access: 'public' } as const

export function signInRoutes(
  app: App,
  { db, keys, sessions, provider, publicUrl }: SignInOptions & { readonly db: Queryable },
): void {
  const attempts = new SignInAttempts(db)
  const sessionOf = (request: FastifyRequest) => {
    const token = cookieOf(request, 'belfry', publicUrl)
    return token === null ? null : sessions.find(token)
  }
  const keep = (request: FastifyRequest, reply: FastifyReply, token: string) =>
    setCookie(
      request,
      reply,
      { name: 'belfry', value: token, maxAgeSeconds: sessions.maxAgeSeconds },
      publicUrl,
    )
  const forget = (request: FastifyRequest, reply: FastifyReply) =>
    setCookie(request, reply, { name: 'belfry', value: '', maxAgeSeconds: 0 }, publicUrl)

  app.get('/auth/methods', { schema: methods, config }, async (request) => ({
    isOpen: !isForwarded(request) && (await keys.isOpen()),
    openid: provider && { name: provider.name },
  }))

  app.get('/auth/login', { schema: { hide: true }, config }, async (request, reply) => {
    const path = returnPath((request.query as { return?: unknown }).return)
    if (provider === null) return toSignInPage(reply, 'not_configured', path)
    try {
      const { url, started } = await provider.begin()
      const value = write({ ...started, path })
      setCookie(request, reply, { name: 'belfry-sign-in', value, maxAgeSeconds: STARTED_SECONDS }, publicUrl)
      return redirect(reply, url)
    } catch (error) {
      return toSignInPage(reply, tell(error, request), path)
    }
  })

  app.get(CALLBACK_PATH, { schema: { hide: true }, config }, async (request, reply) => {
    const started = read(cookieOf(request, 'belfry-sign-in', publicUrl))
    // The browser may have another session, which a link made by somebody else must not end.
    if (provider === null || started === null) return toSignInPage(reply, 'expired', '/')
    const path = returnPath(started.path)
    const address = request.ip ?? null
    // After too many failed attempts, the request does not reach the provider.
    await attempts.begin(address)
    try {
      const identity = await provider.finish(queryOf(request), started)
      await attempts.succeed(address)
      const { token } = await signInPerson(request.context, sessions, identity)
      setCookies(request, reply, token)
      return redirect(reply, path)
    } catch (error) {
      const failure = tell(error, request)
      noteFailure(request, failure)
      return toSignInPage(reply, failure, path)
    }
  })

  /** Sets the cookie of the new session, and deletes that of the sign-in. */
  const setCookies = (request: FastifyRequest, reply: FastifyReply, token: string) => {
    keep(request, reply, token)
    setCookie(request, reply, { name: 'belfry-sign-in', value: '', maxAgeSeconds: 0 }, publicUrl)
  }

  app.post('/auth/sign-in', { schema: withKey, config }, async (request, reply) => {
    const { body, context } = request
    const { token } = await signInWithKey(context, body.key, { keys, sessions, attempts })
    keep(request, reply, token)
    return reply.code(204).send(null)
  })

  app.post('/auth/sign-out', { schema: out, config }, async (request, reply) => {
    const session = await sessionOf(request)
    if (session) await signOut(request.context, { keys, sessions }, session)
    forget(request, reply)
    return reply.code(204).send(null)
  })

  app.post('/auth/sign-out-everywhere', { schema: everywhere, config }, async (request, reply) => {
    const session = await sessionOf(request)
    if (!session) throw new Refusal('unauthenticated', 'Your session has ended. Sign in again.')
    const ended = await signOutEverywhere(request.context, { keys, sessions }, session)
    forget(request, reply)
    return reply.send({ sessions: ended })
  })
}

function toSignInPage(reply: FastifyReply, failure: SignInFailure, path: string): FastifyReply {
  const query = new URLSearchParams({ error: failure, ...(path === '/' ? {} : { return: path }) })
  return redirect(reply, `${SIGN_IN_PAGE}?${query}`)
}

/** Addresses of this flow contain codes and states, which must not reach the next page as a referrer. */
const redirect = (reply: FastifyReply, url: string): FastifyReply =>
  reply.header('referrer-policy', 'no-referrer').redirect(url, 303)

/** Logs what went wrong, and returns the code for the page. */
function tell(error: unknown, request: FastifyRequest): SignInFailure {
  if (!(error instanceof SignInError)) throw error
  const { failure, message } = error
  request.log.warn({ failure, reason: message }, 'sign-in failed')
  return failure
}

/** Records the failure in the audit log. */
function noteFailure({ context }: FastifyRequest, failure: SignInFailure): void {
  const caller = { ...context, projectId: INSTALLATION_ID }
  const route = `GET ${CALLBACK_PATH}`
  context.refusedRequests.note({ action: 'signin.failed', caller, route, code: failure })
}

interface Started extends StartedSignIn {
  readonly path: string
}

const write = (started: Started): string => Buffer.from(JSON.stringify(started)).toString('base64url')

function read(cookie: string | null): Started | null {
  try {
    const { state, nonce, verifier, path } = JSON.parse(Buffer.from(cookie ?? '', 'base64url').toString())
    const isWhole = [state, nonce, verifier, path].every((part) => typeof part === 'string' && part !== '')
    return isWhole ? { state, nonce, verifier, path } : null
  } catch {
    return null
  }
}

/** Returns the query as it was sent, including the question mark. */
function queryOf({ raw }: FastifyRequest): string {
  const url = raw.url ?? ''
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}

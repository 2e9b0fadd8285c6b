import type { FastifyRequest } from 'fastify'
import { type Grant, type Role, stronger, UNLIMITED } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import type { Principal } from '../../operations/access/principal.ts'
import type { KeyBook } from '../../operations/keys/key-book.ts'
import type { SessionBook } from '../../operations/sessions/session-book.ts'
import type { GivenRole, SessionRow } from '../../store/access/sessions.ts'
import type { Authenticator } from './authentication.ts'
import { principalOfKey } from './key-authenticator.ts'
import { cookieOf } from './session-cookie.ts'

export interface SessionAuthenticatorOptions {
  readonly sessions: SessionBook
  readonly keys: KeyBook
  readonly publicUrl: string | null
}

/** Finds the sessions of people who are signed in to the dashboard, by the cookie of their browser. */
export const sessionAuthenticator =
  ({ sessions, keys, publicUrl }: SessionAuthenticatorOptions): Authenticator =>
  async (request) => {
    const token = cookieOf(request, 'belfry', publicUrl)
    if (token === null) return null
    const session = await sessions.find(token)
    const principal = session && (await principalOf(session, request, { sessions, keys }))
    if (principal) return principal
    if (await keys.isOpen()) return null
    throw new Refusal('unauthenticated', 'Your session has ended. Sign in again.')
  }

type Books = Pick<SessionAuthenticatorOptions, 'sessions' | 'keys'>

async function principalOf(
  session: SessionRow,
  request: FastifyRequest,
  { sessions, keys }: Books,
): Promise<Principal | null> {
  sessions.noteUse(session)
  const onChange = (listener: () => void) => sessions.onChange(session, listener)
  if (session.keyHash === null) return { ...person(session, request), onEnd: onChange }
  const key = await keys.findByHash(session.keyHash)
  if (!key) return null
  const principal = principalOfKey(key, request, keys)
  return {
    ...principal,
    onEnd: (listener) => {
      const forget = [onChange(listener), principal.onEnd?.(listener)]
      return () => {
        for (const one of forget) one?.()
      }
    },
  }
}

function person({ personId, email, name, subject, roles }: SessionRow, { ip }: FastifyRequest): Principal {
  const grant = grantOf(roles)
  return {
    actor: {
      kind: 'person',
      id: personId ?? '',
      name: email ?? name ?? subject ?? '',
      address: ip ?? null,
    },
    grant,
    homeProjectId: homeOf(grant),
    reach: UNLIMITED,
  }
}

/** Of several roles in one place, the strongest applies. */
export function grantOf(roles: readonly GivenRole[]): Grant {
  const add = (before: Role | null | undefined, role: Role) => (before ? stronger(before, role) : role)
  let installation: Role | null = null
  const projects = new Map<string, Role>()
  for (const { projectId, role } of roles) {
    if (projectId === null) installation = add(installation, role)
    else projects.set(projectId, add(projects.get(projectId), role))
  }
  return { installation, projects }
}

/** A person with no role in the default project starts in a project in which they have one. */
const homeOf = ({ installation, projects }: Grant): string | null =>
  installation !== null || projects.has(DEFAULT_PROJECT_ID) ? null : ([...projects.keys()][0] ?? null)

/** Signed addresses: a request to one needs no other credential, and may do only what the address was signed for. */
import type { FastifyRequest } from 'fastify'
import { type Access, NOTHING, UNLIMITED } from '../../core/access/role.ts'
import type { SignedClaims } from '../../core/access/signed-claims.ts'
import { Refusal } from '../../core/errors.ts'
import type { Actor, Call } from '../../operations/context.ts'
import { actorOfKey, type GoodKey } from '../../operations/keys/key-book.ts'
import { findPerson } from '../../store/access/people.ts'
import type { AuthenticationOptions } from './authentication.ts'
import { refuseArchived } from './named-project.ts'
import { anonymous } from './request.ts'

/** Returns the claims that the address of the request was signed with; null if it is not signed. */
export async function signedOf(
  { routeOptions, query, params }: FastifyRequest,
  { facilities }: Pick<AuthenticationOptions, 'facilities'>,
): Promise<SignedClaims | null> {
  const { signedFor } = routeOptions.config
  const { token } = query as { readonly token?: unknown }
  if (signedFor === undefined || token === undefined) return null
  const verified = await facilities.addresses.verify(signedFor, String(token))
  if (!verified.ok) throw new Refusal('invalid_signature', `The address ${verified.reason}.`)
  const { id } = params as { readonly id?: string }
  if (verified.claims.subject !== id)
    throw new Refusal('invalid_signature', 'The address was signed for another file.')
  return verified.claims
}

/**
 * Returns the call of a client with a signed address: it may do only what the address was signed for. Its actor is the one that it
 * was signed for, so that the audit log names them.
 */
export async function signedCall(
  signed: SignedClaims,
  request: FastifyRequest,
  access: Access,
  { facilities, projects, keys }: Pick<AuthenticationOptions, 'facilities' | 'projects' | 'keys'>,
): Promise<Call> {
  const key = signed.keyId == null ? null : await keys.findById(signed.keyId)
  if (signed.keyId != null && !key)
    throw new Refusal('invalid_signature', 'The address was signed for an API key that is no longer valid.')
  if (signed.isOpen && !(await keys.isOpen()))
    throw new Refusal(
      'invalid_signature',
      'The address was signed when this server required no API key. Get a new one with a key.',
    )
  const project = await projects.withId(signed.projectId)
  if (!project)
    throw new Refusal('invalid_signature', 'The address was signed for a project that does not exist.')
  refuseArchived(project, access)
  const [person] = signed.personId == null ? [] : await facilities.db.run(findPerson(signed.personId))
  const actor = actorOf(key, person, request)
  request.signed = signed
  request.caller = { actor, reach: UNLIMITED, projectId: project.id }
  return { projectId: project.id, actor, grant: NOTHING, reach: UNLIMITED }
}

/** An address that names neither a key nor a person was signed on an open server, or for a person by an older node. */
function actorOf(
  key: GoodKey | null,
  person: { readonly id: string; readonly name: string } | undefined,
  request: FastifyRequest,
): Actor {
  const address = request.ip ?? null
  if (key) return actorOfKey(key, address)
  return person ? { kind: 'person', id: person.id, name: person.name, address } : anonymous(request)
}

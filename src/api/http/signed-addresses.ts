/** Signed addresses: a request to one needs no other credential, and may do only what the address was signed for. */
import type { FastifyRequest } from 'fastify'
import { type Access, NOTHING, UNLIMITED } from '../../core/access/role.ts'
import type { SignedClaims } from '../../core/access/signed-claims.ts'
import { Refusal } from '../../core/errors.ts'
import type { Call } from '../../operations/context.ts'
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

/** Returns the call of a client with a signed address: it may do only what the address was signed for. */
export async function signedCall(
  signed: SignedClaims,
  request: FastifyRequest,
  access: Access,
  { projects, keys }: Pick<AuthenticationOptions, 'projects' | 'keys'>,
): Promise<Call> {
  if (signed.keyId != null && !(await keys.findById(signed.keyId)))
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
  request.signed = signed
  request.caller = { actor: anonymous(request), reach: UNLIMITED, projectId: project.id }
  return { projectId: project.id, actor: anonymous(request), grant: NOTHING, reach: UNLIMITED }
}

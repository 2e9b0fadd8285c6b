import type { FastifyRequest } from 'fastify'
import type { Grant } from '../../core/access/role.ts'
import { Refusal } from '../../core/errors.ts'
import { isWithin } from '../../core/values/network.ts'
import type { Principal } from '../../operations/access/principal.ts'
import { actorOfKey, type GoodKey, type KeyBook } from '../../operations/keys/key-book.ts'
import type { Authenticator } from './authentication.ts'
import { bearerOf } from './request.ts'

/** Finds API keys in the header `Authorization: Bearer`. */
export const keyAuthenticator =
  (keys: KeyBook): Authenticator =>
  async (request) => {
    const text = bearerOf(request)
    if (text === null) return null
    const key = await keys.find(text)
    if (key) return principalOfKey(key, request, keys)
    // A proxy in front of an open server may send credentials of its own.
    if (await keys.isOpen()) return null
    throw new Refusal(
      'unauthenticated',
      'This API key is not valid: it does not exist, has expired, or was revoked.',
    )
  }

/** Returns the principal of a valid key, however the key was sent. */
export function principalOfKey(key: GoodKey, { ip }: FastifyRequest, keys: KeyBook): Principal {
  const { id, projectId, reach } = key
  requireNetwork(key, { ip })
  keys.noteUse(id)
  return {
    actor: actorOfKey(key, ip),
    grant: grantOf(key),
    homeProjectId: projectId,
    reach,
    onEnd: (listener) => keys.onEnd(id, listener),
  }
}

/** Rejects a request from a network in which the key may not be used. */
export function requireNetwork(
  { networks }: Pick<GoodKey, 'networks'>,
  { ip }: Pick<FastifyRequest, 'ip'>,
): void {
  if (networks !== null && !isWithin(networks, ip))
    throw new Refusal('forbidden', `This API key cannot be used from ${ip}.`)
}

const NO_PROJECTS: Grant['projects'] = new Map()

const grantOf = ({ role, projectId }: GoodKey): Grant =>
  projectId === null
    ? { installation: role, projects: NO_PROJECTS }
    : { installation: null, projects: new Map([[projectId, role]]) }

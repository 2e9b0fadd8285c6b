import { z } from 'zod'
import { utc } from '../../../core/values/utc.ts'
import { allEncryptionKeys } from '../../../operations/secrets/encryption-keys.ts'
import { rotateSecretsKey } from '../../../operations/secrets/rotate-key.ts'
import { getSecret, readAllSecrets, removeSecret, setSecret } from '../../../operations/secrets/secrets.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { SecretRow } from '../../../store/secrets/secrets.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  DeleteSecret,
  EncryptionKeys,
  KeyRotation,
  ReadSecrets,
  Secret,
  SecretInUse,
  SecretList,
  SecretName,
  SetSecret,
} from './schemas.ts'

const tags = ['secrets']
const params = z.object({ name: SecretName })

const list = {
  operationId: 'listSecrets',
  tags,
  summary: 'List secrets by name, without their values',
  querystring: ReadSecrets,
  response: { 200: SecretList, ...problems() },
}

const read = {
  operationId: 'getSecret',
  tags,
  summary: 'Read a secret without its value, and which tasks use it',
  params,
  response: { 200: SecretInUse, ...problems(404) },
}

const set = {
  operationId: 'setSecret',
  tags,
  summary: 'Create a secret, or set a new value',
  description: 'Tasks refer to it as `{{secret.NAME}}`. Attempts that begin from now on use the new value.',
  params,
  body: SetSecret,
  response: {
    200: Secret.describe('A new value was set.'),
    201: Secret.describe('The secret was created.'),
    ...problems(409, 413, 415, 503),
  },
}

const keys = {
  operationId: 'listEncryptionKeys',
  tags,
  summary: 'List the keys that secrets are encrypted with, and which nodes have them',
  response: { 200: EncryptionKeys, ...problems() },
}

const rotate = {
  operationId: 'rotateSecretsKey',
  tags,
  summary: 'Re-encrypt all secrets with the first key of the node',
  description:
    'Re-encrypts the secrets of all projects that are encrypted with another key, while nodes run. Every node must already have that first key.',
  body: NoBody,
  response: { 200: KeyRotation, ...problems(413, 415) },
}

const remove = {
  operationId: 'deleteSecret',
  tags,
  summary: 'Delete a secret and all its values',
  params,
  querystring: DeleteSecret,
  response: { 204: z.null().describe('The secret is deleted.'), ...problems(404, 409) },
}

export function secretRoutes(app: App): void {
  app.get(
    '/v1/secrets',
    { schema: list, config: { access: 'read' } },
    async ({ query: { limit, cursor }, context }) => {
      const [after = null] = decodeCursor(cursor, isPosition) ?? []
      const rows = await readAllSecrets(context, { after, limit: limit + 1 })
      return pageOf(rows, { limit, present, position: ({ name }) => [name] })
    },
  )

  app.get('/v1/secrets/:name', { schema: read, config: { access: 'read' } }, async ({ params, context }) => {
    const { usedBy, isInMail, hasMoreUsers, ...secret } = await getSecret(context, params.name)
    return { ...present(secret), usedBy: [...usedBy], isInMail, hasMoreUsers }
  })

  app.put(
    '/v1/secrets/:name',
    { schema: set, config: { access: 'edit' } },
    async ({ params, body, context }, reply) => {
      const { isNew, ...secret } = await setSecret(context, params.name, body.value)
      return reply.code(isNew ? 201 : 200).send(present(secret))
    },
  )

  app.get(
    '/v1/secrets-key',
    { schema: keys, config: { access: 'inspect' } },
    async ({ context }): Promise<EncryptionKeys> => {
      const { keys, unencrypted, nodes } = await allEncryptionKeys(context)
      const shown = nodes.map(({ id, name, secrets, keys, missing }) => ({
        id,
        name,
        secrets,
        keys: keys && [...keys],
        missing: missing && [...missing],
      }))
      return { keys: [...keys], unencrypted, nodes: shown }
    },
  )

  app.post(
    '/v1/secrets-key/rotate',
    { schema: rotate, config: { access: 'installation' } },
    async ({ context }) => {
      const { retired, ...rotation } = await rotateSecretsKey(context)
      return { ...rotation, retired: [...retired] }
    },
  )

  app.delete(
    '/v1/secrets/:name',
    { schema: remove, config: { access: 'edit' } },
    async ({ params, query, context }, reply) => {
      await removeSecret(context, params.name, { isForced: query.force === 'true' })
      return reply.code(204).send(null)
    },
  )
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && SecretName.safeParse(value[0]).success

const present = ({ name, version, createdAt, updatedAt }: SecretRow): Secret => ({
  name,
  version,
  createdAt: utc(createdAt),
  updatedAt: utc(updatedAt),
})

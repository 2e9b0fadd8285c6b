import { z } from 'zod'
import { durationMs } from '../../../core/task/task.ts'
import { parseOrigin } from '../../../core/values/origin.ts'
import { utc } from '../../../core/values/utc.ts'
import {
  allSigningSecrets,
  makeSigningSecret,
  revokeSigningSecret,
} from '../../../operations/projects/signing-secrets.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { SigningSecretRow } from '../../../store/projects/signing-secrets.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  CreateSigningSecret,
  ListSigningSecrets,
  NewSigningSecret,
  RotateSigningSecret,
  type SigningSecret,
  SigningSecretList,
} from './schemas.ts'

const tags = ['signing secrets']
const DEFAULT_KEEP = '1d'

const list = {
  operationId: 'listSigningSecrets',
  tags,
  summary: 'List signing secrets, without their values',
  querystring: ListSigningSecrets,
  response: { 200: SigningSecretList, ...problems() },
}

const create = {
  operationId: 'createSigningSecret',
  tags,
  summary: 'Create a signing secret; at most two can be in use',
  description:
    'With an `origin`, the secret signs requests to that origin only, instead of the secrets of the project.',
  body: CreateSigningSecret,
  response: { 201: NewSigningSecret, ...problems(409, 413, 415) },
}

const rotate = {
  operationId: 'rotateSigningSecret',
  tags,
  summary: 'Create a new secret and keep the old one in use for a while',
  body: RotateSigningSecret,
  response: { 201: NewSigningSecret, ...problems(409, 413, 415) },
}

const revoke = {
  operationId: 'revokeSigningSecret',
  tags,
  summary: 'Revoke a secret',
  params: z.object({ id: Uuid }),
  response: { 204: z.null().describe('The secret is revoked.'), ...problems(404) },
}

export function signingSecretRoutes(app: App): void {
  app.get(
    '/v1/signing-secrets',
    { schema: list, config: { access: 'read' } },
    async ({ query, context }) => ({
      items: (await allSigningSecrets(context, canonical(query.origin))).map(present),
    }),
  )

  app.post(
    '/v1/signing-secrets',
    { schema: create, config: { access: 'edit' } },
    async ({ body, context }, reply) => {
      const origin = canonical(body?.origin)
      const { secret, ...row } = await makeSigningSecret(context, { origin, othersExpireInMs: null })
      return reply.code(201).send({ ...present(row), secret })
    },
  )

  app.post(
    '/v1/signing-secrets/rotate',
    { schema: rotate, config: { access: 'edit' } },
    async ({ body, context }, reply) => {
      const origin = canonical(body?.origin)
      const othersExpireInMs = durationMs(body?.keepOldFor ?? DEFAULT_KEEP)
      const { secret, ...row } = await makeSigningSecret(context, { origin, othersExpireInMs })
      return reply.code(201).send({ ...present(row), secret })
    },
  )

  app.delete(
    '/v1/signing-secrets/:id',
    { schema: revoke, config: { access: 'edit' } },
    async ({ params, context }, reply) => {
      await revokeSigningSecret(context, params.id)
      return reply.code(204).send(null)
    },
  )
}

/** Returns the origin in its stored form; the schema has rejected invalid ones. */
function canonical(text: string | null | undefined): string | null {
  const parsed = parseOrigin(text ?? '')
  return parsed.ok ? parsed.origin : null
}

function present({ id, origin, createdAt, expiresAt }: SigningSecretRow): SigningSecret {
  return { id, origin, createdAt: utc(createdAt), expiresAt: expiresAt === null ? null : utc(expiresAt) }
}

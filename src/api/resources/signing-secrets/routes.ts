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
  summary: 'List the signing secrets in use, without the secrets themselves',
  querystring: ListSigningSecrets,
  response: { 200: SigningSecretList, ...problems() },
}

const create = {
  operationId: 'createSigningSecret',
  tags,
  summary: 'Make a secret that outgoing requests are signed with; two may be in use',
  description:
    'With an `origin` the secret is for requests to that origin alone, which are then signed with its secrets instead of those of the project.',
  body: CreateSigningSecret,
  response: { 201: NewSigningSecret, ...problems(409, 413, 415) },
}

const rotate = {
  operationId: 'rotateSigningSecret',
  tags,
  summary: 'Make a new secret, and keep the old one in use for a while',
  body: RotateSigningSecret,
  response: { 201: NewSigningSecret, ...problems(409, 413, 415) },
}

const revoke = {
  operationId: 'revokeSigningSecret',
  tags,
  summary: 'Stop using a secret',
  params: z.object({ id: Uuid }),
  response: { 204: z.null().describe('No longer in use.'), ...problems(404) },
}

export function signingSecretRoutes(app: App): void {
  app.get('/v1/signing-secrets', { schema: list }, async ({ query, context }) => ({
    items: (await allSigningSecrets(context, canonical(query.origin))).map(present),
  }))

  app.post('/v1/signing-secrets', { schema: create }, async ({ body, context }, reply) => {
    const origin = canonical(body?.origin)
    const { secret, ...row } = await makeSigningSecret(context, { origin, othersExpireInMs: null })
    return reply.code(201).send({ ...present(row), secret })
  })

  app.post('/v1/signing-secrets/rotate', { schema: rotate }, async ({ body, context }, reply) => {
    const origin = canonical(body?.origin)
    const othersExpireInMs = durationMs(body?.keepOldFor ?? DEFAULT_KEEP)
    const { secret, ...row } = await makeSigningSecret(context, { origin, othersExpireInMs })
    return reply.code(201).send({ ...present(row), secret })
  })

  app.delete('/v1/signing-secrets/:id', { schema: revoke }, async ({ params, context }, reply) => {
    await revokeSigningSecret(context, params.id)
    return reply.code(204).send(null)
  })
}

/** The origin as it is stored; the schema has refused what is none. */
function canonical(text: string | null | undefined): string | null {
  const parsed = parseOrigin(text ?? '')
  return parsed.ok ? parsed.origin : null
}

function present({ id, origin, createdAt, expiresAt }: SigningSecretRow): SigningSecret {
  return { id, origin, createdAt: utc(createdAt), expiresAt: expiresAt === null ? null : utc(expiresAt) }
}

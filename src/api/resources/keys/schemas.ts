import { z } from 'zod'
import { ROLES } from '../../../core/access/role.ts'
import { MAX_NETWORKS, parseNetwork } from '../../../core/values/network.ts'
import { durationBetween, Instant, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { EditKeyLimits, KeyLimits } from '../projects/limit-schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MONTH_MS = 30 * 86_400_000
const MAX_NAME_CHARACTERS = 100
const MAX_QUEUES = 100

const Role = z
  .enum(ROLES)
  .describe(
    'viewer reads; operator also pauses, triggers, reruns and cancels; editor also creates and changes; admin also manages keys, members and settings; worker registers workers and nothing else.',
  )

const Network = z
  .string()
  .max(50)
  .refine((text) => parseNetwork(text) !== null, 'must be a network such as 10.0.0.0/8, or an address')
  .meta({ example: '10.0.0.0/8' })

const Queues = z
  .array(z.string().min(1).max(200))
  .min(1)
  .max(MAX_QUEUES)
  .describe(
    'Queues that the key can be used for: tasks that it creates, changes and triggers, and runs that its workers claim.',
  )

const Networks = z
  .array(Network)
  .min(1)
  .max(MAX_NETWORKS)
  .describe('Networks that requests with the key must come from.')

const fields = {
  id: Uuid,
  name: z.string(),
  role: Role,
  project: z
    .string()
    .nullable()
    .describe('Name of the project; null for a key of the installation, which is valid in every project.'),
  state: z.enum(['active', 'expired', 'revoked']),
  hint: z.string().describe('First characters of the key.').meta({ example: 'bf_4kQ9z' }),
  queues: Queues.nullable(),
  networks: z.array(z.string()).nullable().describe('Networks that requests with the key must come from.'),
  limits: KeyLimits.nullable().describe(
    'Limits of the key, in addition to those of its project; null for none.',
  ),
  createdAt: Stored,
  createdBy: z.string().nullable().describe('Key, person or address that created the key.'),
  expiresAt: Stored.nullable(),
  revokedAt: Stored.nullable(),
  rotatedTo: Uuid.nullable().describe('Id of the key that replaced this one.'),
  lastUsedAt: Stored.nullable().describe('When the key was last used, accurate to about a minute.'),
}

export const ApiKey = z.object(fields).meta({ id: 'ApiKey' })
export type ApiKey = z.output<typeof ApiKey>

export const NewApiKey = z
  .object({
    ...fields,
    key: z
      .string()
      .describe('The key itself. Returned only in this response.')
      .meta({ example: 'bf_4kQ9zS0gqX1mB7fV2nK8rT5wY3cJ6hD0pL9aE4uG1oWx7Rq' }),
  })
  .meta({ id: 'NewApiKey' })
export type NewApiKey = z.output<typeof NewApiKey>

export const CreateApiKey = z
  .strictObject({
    name: z.string().min(1).max(MAX_NAME_CHARACTERS).describe('What the key is for.'),
    role: Role,
    project: z
      .string()
      .nullish()
      .describe(
        'Name of the project; null for the installation. Default: the installation if the caller is one of its admins, else the project of the request.',
      ),
    expiresAt: Instant.nullish().describe('When the key expires. Default: never.'),
    queues: Queues.nullish(),
    networks: Networks.nullish(),
    limits: EditKeyLimits.nullish().describe('Limits of the key itself. Default: none.'),
  })
  .meta({ id: 'CreateApiKey' })
export type CreateApiKey = z.input<typeof CreateApiKey>

export const EditApiKey = z.strictObject({ limits: EditKeyLimits }).meta({ id: 'EditApiKey' })

export const RotateApiKey = z
  .strictObject({
    overlap: durationBetween(0, MONTH_MS, 'from 0s to 30d')
      .optional()
      .describe('How long the old key stays valid. Default 1d.'),
    expiresAt: Instant.nullish().describe('When the new key expires. Default: same lifetime as the old key.'),
  })
  .nullish()
  .meta({ id: 'RotateApiKey' })

export const ListApiKeys = z.strictObject({ limit: Limit, cursor: Cursor })

export const ApiKeyPage = z
  .object({ items: z.array(ApiKey), nextCursor: z.string().nullable() })
  .meta({ id: 'ApiKeyPage' })

import { z } from 'zod'
import {
  MAX_SECRET_CHARACTERS,
  SECRET_NAME,
  SECRET_NAME_RULE,
} from '../../../core/secret/secret-reference.ts'
import { MAX_USERS } from '../../../operations/tasks/task-users.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { Counted } from '../../http/schemas/counted.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const SecretName = z.string().regex(SECRET_NAME, SECRET_NAME_RULE).meta({ example: 'API_TOKEN' })

/** An unpaired surrogate cannot be encoded: the value sent would not be the value given. */
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

export const SetSecret = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(MAX_SECRET_CHARACTERS)
      .refine((value) => !LONE_SURROGATE.test(value), 'must be valid Unicode')
      .describe(
        'The value. No response ever contains it. Values of fewer than six characters are not removed from captured output.',
      ),
  })
  .meta({ id: 'SetSecret' })

const fields = {
  name: SecretName,
  version: z.int().describe('Increases each time the secret is set.'),
  createdAt: Stored,
  updatedAt: Stored.describe('When the current value was set.'),
}

export const Secret = z.object(fields).meta({ id: 'Secret' })
export type Secret = z.output<typeof Secret>

export const SecretInUse = z
  .object({
    ...fields,
    usedBy: z
      .array(z.object({ id: Uuid, name: z.string().nullable(), key: z.string().nullable() }))
      .describe(`Tasks that refer to the secret and can still run, newest first; at most ${MAX_USERS}.`),
    isInMail: z.boolean().describe('The mail settings of the project refer to the secret.'),
    hasMoreUsers: z.boolean().describe('More tasks may refer to the secret than are listed.'),
  })
  .meta({ id: 'SecretInUse' })
export type SecretInUse = z.output<typeof SecretInUse>

export const SecretList = z
  .object({ items: z.array(Secret), nextCursor: z.string().nullable() })
  .meta({ id: 'SecretList' })

export const ReadSecrets = z.strictObject({
  limit: Limit,
  cursor: Cursor,
})

export const DeleteSecret = z.strictObject({
  force: z
    .enum(['true', 'false'])
    .optional()
    .describe('true deletes the secret even if tasks or mail settings use it; runs that need it then fail.'),
})

export const KeyRotation = z
  .object({
    key: z
      .string()
      .describe('Fingerprint of the key that all secrets are now encrypted with.')
      .meta({ example: '5f1d0c2ab37e9684' }),
    encrypted: z.int().describe('Number of values that this request re-encrypted.'),
    unreadable: z
      .int()
      .describe(
        'Number of values that this node could not decrypt: it does not have their key, or they are damaged.',
      ),
    retired: z
      .array(z.string())
      .describe('Fingerprints of keys that are no longer in use. They can be removed from the nodes.'),
  })
  .meta({ id: 'KeyRotation' })
export type KeyRotation = z.output<typeof KeyRotation>

const Fingerprint = z.string().meta({ example: '5f1d0c2ab37e9684' })

export const EncryptionKeys = z
  .object({
    keys: z
      .array(
        z.object({
          fingerprint: Fingerprint,
          isInUse: z
            .boolean()
            .describe(
              'True if values are encrypted with the key: every node must have it. False: no value needs it.',
            ),
          values: Counted.describe('Values that are encrypted with the key.'),
          firstOn: z.int().describe('Number of live nodes whose first key it is: they encrypt with it.'),
          heldBy: z.int().describe('Number of live nodes that have the key.'),
        }),
      )
      .describe('Keys in use, oldest first, then the other keys of live nodes.'),
    unencrypted: Counted.describe(
      'Signing secrets and secrets of subscriptions that are stored unencrypted, because there was no key when they were created.',
    ),
    nodes: z
      .array(
        z.object({
          id: Uuid,
          name: z.string().describe('Host name and process id.'),
          secrets: z
            .enum(['ready', 'no_key', 'other_key'])
            .nullable()
            .describe(
              'Whether the node can read secrets: it has all keys in use, has no key, or lacks keys in use. Null for nodes of a release without secrets.',
            ),
          keys: z
            .array(Fingerprint)
            .nullable()
            .describe('Keys that the node has, in its order; null for nodes of an older release.'),
          missing: z
            .array(Fingerprint)
            .nullable()
            .describe(
              'Keys that the node does not have: those in use, and those of other live nodes. Null for nodes of an older release.',
            ),
        }),
      )
      .describe('Live nodes by name, without remote workers.'),
  })
  .meta({ id: 'EncryptionKeys' })
export type EncryptionKeys = z.output<typeof EncryptionKeys>

import { z } from 'zod'
import { Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const Person = z
  .object({
    id: Uuid,
    name: z.string().nullable(),
    email: z.string().nullable().describe('Email address that the provider has verified.'),
    subject: z.string().describe('Id of the person at the identity provider.'),
    groups: z.array(z.string()).describe('Groups at the last sign-in.'),
    sessions: z.int().describe('Number of sessions.'),
    createdAt: Stored.describe('First sign-in.'),
    signedInAt: Stored.describe('Last sign-in.'),
  })
  .meta({
    id: 'Person',
    example: {
      id: '01a1e128-d49d-7000-92ca-b285fcbd8a00',
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      subject: '248289761001',
      groups: ['developers'],
      sessions: 2,
      createdAt: '2026-11-01T09:00:00.000Z',
      signedInAt: '2026-11-18T09:00:00.000Z',
    },
  })
export type Person = z.output<typeof Person>

export const ListPeople = z.strictObject({ limit: Limit, cursor: Cursor })

export const PersonPage = z
  .object({ items: z.array(Person), nextCursor: z.string().nullable() })
  .meta({ id: 'PersonPage' })

import { z } from 'zod'
import { isGroupName } from '../../../operations/people/identity.ts'
import { Uuid } from '../../../operations/validation/values.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MAX_CHARACTERS = 320

export const MEMBER_ROLES = ['viewer', 'operator', 'editor', 'admin'] as const

const Email = z
  .string()
  .max(MAX_CHARACTERS)
  .refine((text) => /^[^\s@]+@[^\s@]+$/.test(text), 'must be an email address, such as ada@example.com')
  .meta({ example: 'ada@example.com' })

const Group = z
  .string()
  .refine(isGroupName, 'must be the name of a group, of at most 200 characters')
  .meta({ example: 'platform' })

const RoleGiven = z
  .enum(MEMBER_ROLES)
  .describe('What the member can do: read (viewer), operate, edit, or administer (admin).')

const fields = {
  email: Email.nullable().describe('Verified email address of a person; null for a group.'),
  group: Group.nullable().describe('Group at the identity provider; null for a person.'),
  role: RoleGiven,
}

export const Member = z
  .object({
    id: Uuid,
    ...fields,
    createdAt: Stored,
    createdBy: z.string().nullable().describe('Who added the member.'),
  })
  .meta({
    id: 'Member',
    example: {
      id: '01a1e128-d49d-7000-92ca-b285fcbd8a00',
      email: null,
      group: 'platform',
      role: 'editor',
      createdAt: '2026-11-18T09:00:00.000Z',
      createdBy: 'key ops',
    },
  })
export type Member = z.output<typeof Member>

export const MemberList = z.object({ items: z.array(Member) }).meta({ id: 'MemberList' })

export const MemberInput = z
  .strictObject({
    email: Email.optional().describe('Give the role to the person with this verified email address.'),
    group: Group.optional().describe('Give the role to everyone in this group at the identity provider.'),
    role: RoleGiven,
  })
  .superRefine(({ email, group }, context) => {
    if ((email === undefined) === (group === undefined))
      context.addIssue({ code: 'custom', message: 'must contain either email or group' })
  })
  .meta({ id: 'SetMember', example: { group: 'platform', role: 'editor' } })
export type MemberInput = z.input<typeof MemberInput>

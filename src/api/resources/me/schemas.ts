import { z } from 'zod'
import { ROLES } from '../../../core/access/role.ts'
import { Uuid } from '../../../operations/validation/values.ts'

const RoleHeld = z.enum(ROLES)

export const Me = z
  .object({
    kind: z
      .enum(['key', 'person', 'anonymous'])
      .describe('An API key, a person who signed in, or anyone on a server without API keys.'),
    id: Uuid.nullable(),
    name: z.string().nullable().describe('Name of the key or of the person.'),
    email: z.string().nullable().describe('Verified email address of the person.'),
    installationRole: RoleHeld.nullable().describe('Role in every project.'),
    projects: z.array(z.object({ name: z.string(), role: RoleHeld })).describe('Roles in single projects.'),
    project: z
      .string()
      .nullable()
      .describe('Project of requests that do not name one; null if the caller has no role in any project.'),
  })
  .meta({
    id: 'Me',
    example: {
      kind: 'person',
      id: '01a1e128-d49d-7000-92ca-b285fcbd8a00',
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      installationRole: null,
      projects: [{ name: 'shop', role: 'editor' }],
      project: 'shop',
    },
  })
export type Me = z.output<typeof Me>

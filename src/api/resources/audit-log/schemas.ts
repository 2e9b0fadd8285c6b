import { z } from 'zod'
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '../../../core/audit-log/audit-action.ts'
import { Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { FieldChange } from '../versions/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

const entry = {
  id: Uuid,
  at: Stored,
  project: z
    .object({ id: Uuid, name: z.string().nullable() })
    .nullable()
    .describe('Null for changes of the installation, which belong to no project.'),
  actor: z
    .object({
      kind: z
        .string()
        .describe(
          '`key`, `person`, `worker`, `anonymous` (a client without credentials) or `system` (Belfry itself).',
        ),
      id: z
        .string()
        .nullable()
        .describe('Id of the key, person or worker; address of an anonymous client; part of Belfry.'),
      name: z.string().nullable(),
    })
    .describe('Who made the change.'),
  address: z.string().nullable().describe('Address that the request came from.'),
  requestId: Uuid.nullable().describe('The `x-request-id` of the response.'),
  action: z.enum(AUDIT_ACTIONS),
  subject: z
    .object({ kind: z.enum(AUDIT_SUBJECTS), id: z.string().nullable(), name: z.string().nullable() })
    .describe('What was changed, with its name at that time.'),
  count: z.int().describe('More than 1 for refused requests that were counted together.'),
  before: z.unknown().describe('State before the change; null if there was none. For a task, its version.'),
  after: z.unknown().describe('State after the change; null if there is none.'),
  reason: z.string().nullable().describe('The reason given: `belfry-reason`, or `reason` in the body.'),
}

const AuditEntry = z.object(entry).meta({ id: 'AuditEntry' })
export type AuditEntry = z.output<typeof AuditEntry>

export const AuditEntryWithChanges = z
  .object({
    ...entry,
    changes: z
      .array(FieldChange)
      .describe('What differs between before and after, field by field; for a task, between its versions.'),
  })
  .meta({ id: 'AuditEntryWithChanges' })

export type AuditEntryWithChanges = z.output<typeof AuditEntryWithChanges>

export const AuditEntryPage = z
  .object({ items: z.array(AuditEntry), nextCursor: z.string().nullable() })
  .meta({ id: 'AuditEntryPage' })

export const AuditScope = z
  .enum(['project', 'installation', 'all'])
  .default('project')
  .describe(
    'Entries of the project; of the installation itself; or of all projects and the installation. All but `project` need a role in the installation.',
  )

export const ListAuditLog = z
  .strictObject({
    scope: AuditScope,
    from: Instant.optional().describe('Only entries at or after this instant.'),
    to: Instant.optional().describe('Only entries before this instant.'),
    actor: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only changes by this key, person or address: its id.'),
    action: z.enum(AUDIT_ACTIONS).optional().describe('Only this kind of change.'),
    subject: z.string().min(1).max(500).optional().describe('Only changes of the subject with this id.'),
    subjectKind: z.enum(AUDIT_SUBJECTS).optional().describe('Only changes of subjects of this kind.'),
    limit: Limit,
    cursor: Cursor,
  })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })

export const AuditEntryQuery = z.strictObject({ scope: AuditScope })

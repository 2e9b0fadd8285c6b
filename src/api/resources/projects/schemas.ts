import { z } from 'zod'
import { notPrivate } from '../../../core/action/address.ts'
import { parseMailServer } from '../../../core/action/mail-settings.ts'
import { MAX_NETWORKS, networkText, parseNetwork } from '../../../core/values/network.ts'
import { Address } from '../../../operations/tasks/action-schema.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { EditProjectLimits, ProjectLimits, ProjectUse } from './limit-schemas.ts'
import { EditRetention, Retention } from './retention-schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

const MAX_SERVER_CHARACTERS = 1_000

const MailServer = z
  .string()
  .max(MAX_SERVER_CHARACTERS)
  .superRefine((text, context) => {
    const read = parseMailServer(text)
    if (!read.ok) context.addIssue({ code: 'custom', message: read.reason })
  })
  .describe('The password must be a secret of the project. Nodes apply a change within 5 seconds.')
  .meta({ example: 'smtp://shop:{{secret.SMTP_PASSWORD}}@mail.example.com:587' })

/** A private network or address, converted to its canonical form. */
const PrivateNetwork = z.string().transform((text, { addIssue }) => {
  const network = parseNetwork(text)
  const problem =
    network === null ? 'must be a network such as 10.1.0.0/16, or an address' : notPrivate(network)
  if (network !== null && problem === null) return networkText(network)
  addIssue(problem ?? '')
  return z.NEVER
})

export const ProjectName = z.object({ name: z.string().describe('Name of the project.') })

export const Project = z
  .object({
    id: z.string(),
    name: z.string(),
    limits: ProjectLimits,
    use: ProjectUse.nullable().describe(
      'What is used of the limits that are set, counted within the last seconds. Null in lists.',
    ),
    mail: z.object({
      from: z.string().nullable().describe('Default sender of emails; null for `--smtp-from`.'),
      replyTo: z.string().nullable().describe('Default reply-to address of emails.'),
      server: z.string().nullable().describe('Mail server of the project; null for `--smtp-url`.'),
    }),
    network: z.object({
      allowedPrivate: z
        .array(z.string())
        .nullable()
        .describe(
          'Private networks that calls of the project can reach; null for all that the installation allows.',
        ),
    }),
    retention: Retention,
    createdAt: Stored,
    archivedAt: Stored.nullable().describe('When the project was archived; null if it was not.'),
  })
  .meta({ id: 'Project' })
export type Project = z.output<typeof Project>

const settings = {
  limits: EditProjectLimits.optional(),
  mail: z
    .strictObject({
      from: Address.nullable().optional(),
      replyTo: Address.nullable().optional(),
      server: MailServer.nullable().optional(),
    })
    .refine((mail) => Object.keys(mail).length > 0, 'must name from, replyTo or server')
    .optional(),
  network: z
    .strictObject({ allowedPrivate: z.array(PrivateNetwork).max(MAX_NETWORKS).nullable() })
    .optional()
    .describe('An empty list allows no private network. Nodes apply a change within 5 seconds.'),
  retention: EditRetention.optional(),
}

export const EditProject = z
  .strictObject(settings)
  .refine((edit) => Object.keys(edit).length > 0, 'must name limits, mail, network or retention')
  .describe(
    'Null removes a limit, a mail setting or a retention of the project, so that the setting of the server applies. Limits, networks and retention can be changed by admins of the installation. Limits apply to what is created, changed or requested from then on; existing tasks are not affected.',
  )
  .meta({ id: 'EditProject' })
export type EditProject = z.output<typeof EditProject>

export const CreateProject = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
        'must be 1 to 63 lowercase letters, digits and hyphens, such as web-shop',
      )
      .describe('Name of the project, which cannot be changed.')
      .meta({ example: 'web-shop' }),
    ...settings,
  })
  .meta({ id: 'CreateProject' })

export const ListProjects = z.strictObject({
  q: z.string().min(1).max(100).optional().describe('Only projects whose name contains this text.'),
  archived: z.enum(['true', 'false']).default('false').describe('`true` lists archived projects instead.'),
  limit: Limit,
  cursor: Cursor,
})

export const ProjectPage = z
  .object({ items: z.array(Project), nextCursor: z.string().nullable() })
  .meta({ id: 'ProjectPage' })

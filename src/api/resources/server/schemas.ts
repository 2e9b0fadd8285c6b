import { z } from 'zod'

export const Server = z
  .object({
    version: z.string().describe('Version of Belfry.'),
    database: z.object({
      version: z.string().describe('Version of PostgreSQL.'),
      isEmbedded: z.boolean().describe('True if Belfry starts and stops the database itself.'),
      place: z
        .string()
        .describe(
          'Directory of an embedded database, otherwise host and database name. Never contains a user or a password.',
        ),
    }),
    isLoopbackOnly: z.boolean().describe('True if the server accepts requests from its own machine only.'),
    isOpen: z.boolean().describe('True if no API key is needed, because none has been created.'),
  })
  .meta({
    id: 'Server',
    example: {
      version: '0.1.0',
      database: { version: '18.4', isEmbedded: true, place: '~/.local/share/belfry' },
      isLoopbackOnly: true,
      isOpen: true,
    },
  })
export type Server = z.output<typeof Server>

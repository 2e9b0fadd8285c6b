import { z } from 'zod'
import { IMPORTANCES } from '../../http/load/importance.ts'

export const Server = z
  .object({
    version: z.string().describe('Version of Belfry.'),
    database: z.object({
      version: z.string().describe('Version of PostgreSQL.'),
      isEmbedded: z.boolean().describe('True if Belfry starts and stops the database itself.'),
      place: z
        .string()
        .nullable()
        .describe(
          'Directory of an embedded database, otherwise host and database name; null for keys of a project. Never contains a user or a password.',
        ),
    }),
    isLoopbackOnly: z.boolean().describe('True if the server accepts requests from its own machine only.'),
    isOpen: z.boolean().describe('True if no API key is needed, because none has been created.'),
    load: z
      .object({
        databaseDelayMs: z
          .int()
          .describe('How long the last simple statement took, including the wait for a connection.'),
        refused: z
          .array(z.enum(IMPORTANCES))
          .describe('Kinds of requests that this node refuses because the database is slow. Usually empty.'),
        refusals: z
          .int()
          .nullable()
          .describe(
            'Requests of all projects refused for this reason since this node started; null for keys of a project.',
          ),
      })
      .describe('How the database keeps up with the requests to this node.'),
  })
  .meta({
    id: 'Server',
    example: {
      version: '0.1.0',
      database: { version: '18.4', isEmbedded: true, place: '~/.local/share/belfry' },
      isLoopbackOnly: true,
      isOpen: true,
      load: { databaseDelayMs: 1, refused: [], refusals: 0 },
    },
  })
export type Server = z.output<typeof Server>

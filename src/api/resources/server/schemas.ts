import { z } from 'zod'

export const Server = z
  .object({
    version: z.string().describe('Of Belfry.'),
    database: z.object({
      version: z.string().describe('Of PostgreSQL.'),
      isEmbedded: z.boolean().describe('It came with Belfry, which starts and stops it.'),
      place: z
        .string()
        .describe(
          'The directory of an embedded one; else its host and the name of the database, never a user or a password.',
        ),
    }),
    isLoopbackOnly: z
      .boolean()
      .describe('Whoever is on this machine may use it, without a key, and nobody else.'),
  })
  .meta({
    id: 'Server',
    example: {
      version: '0.1.0',
      database: { version: '18.4', isEmbedded: true, place: '~/.local/share/belfry' },
      isLoopbackOnly: true,
    },
  })
export type Server = z.output<typeof Server>

/** The server that responds: its version, the place of its data, and who can reach it. */

import { allows } from '../../../core/access/role.ts'
import type { KeyBook } from '../../../operations/keys/key-book.ts'
import { databaseVersion } from '../../../store/nodes/cluster.ts'
import type { App } from '../../app.ts'
import type { DatabaseLoad } from '../../http/load/database-load.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Server } from './schemas.ts'

/** What a node knows of itself from the start. */
export interface Installation {
  /** The version of Belfry. */
  readonly version: string
  /** Answer only to requests for a loopback name: the server is open to this machine alone. */
  readonly loopbackOnly: boolean
  /** The origin under which people reach it, if that is not the address it listens on. */
  readonly publicUrl: string | null
  /** Origins besides its own whose pages may read and change things. */
  readonly allowedOrigins: readonly string[]
  /** Networks of the proxies whose X-Forwarded headers are trusted. */
  readonly trustedProxies: readonly string[]
  readonly isEmbedded: boolean
  /** A description of the database's location that may be shown. */
  readonly databasePlace: string
}

const read = {
  operationId: 'getServer',
  tags: ['cluster'],
  summary: 'Read the version of this server and its database',
  response: { 200: Server, ...problems() },
}

/** What the response about the server is made from. */
export interface ServerParts {
  readonly installation: Installation
  readonly keys: KeyBook
  readonly load: DatabaseLoad
}

export function serverRoutes(app: App, { installation, keys, load }: ServerParts): void {
  const { version, loopbackOnly, isEmbedded, databasePlace } = installation
  app.get(
    '/v1/server',
    { schema: read, config: { access: 'read' } },
    async ({ context }): Promise<Server> => {
      const [row] = await context.db.run(databaseVersion())
      // The location of the database, and what the requests of all projects caused, are shown only to those who may see the installation.
      const inspects = allows(context.grant, context.projectId, 'inspect')
      return {
        version,
        database: { version: row?.version ?? 'unknown', isEmbedded, place: inspects ? databasePlace : null },
        isLoopbackOnly: loopbackOnly,
        isOpen: await keys.isOpen(),
        load: {
          databaseDelayMs: load.delayMs,
          refused: [...load.refused],
          refusals: inspects ? load.refusals : null,
        },
      }
    },
  )
}

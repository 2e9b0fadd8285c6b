import { z } from 'zod'
import { Uuid } from '../../../operations/validation/values.ts'
import { ROLES } from '../../../runtime/config.ts'
import { Counted } from '../../http/schemas/counted.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** What a node may be: our own, with any of their roles, and workers of the users' own. */
const NODE_ROLES = [...ROLES, 'remote'] as const

export const NODE_STATES = ['alive', 'quiet', 'dead'] as const

export const Node = z
  .object({
    id: Uuid,
    name: z.string().describe('Host and process.'),
    version: z.string(),
    roles: z
      .array(z.enum(NODE_ROLES))
      .describe('remote: a worker of a user, which speaks to api nodes and not to the database.'),
    state: z
      .enum(NODE_STATES)
      .describe('quiet: more than two of its beats are missing. dead: its runs were given to others.'),
    reason: z
      .enum(['stopped', 'lost', 'silent'])
      .nullable()
      .describe(
        'Why it is not alive: it was stopped in order, the others lost sight of it, or its beats are missing.',
      ),
    detail: z.string().nullable().describe('The same as a sentence.'),
    concurrency: z.int().describe('Runs that its worker performs at once; 0 without that role.'),
    busy: Counted.describe(
      'Runs that it holds: those in progress, and up to a second of work taken on ahead.',
    ),
    offers: z
      .object({
        handlers: z.array(z.string()),
        labels: z.array(z.string()),
        queues: z.array(z.string()).nullable().describe('null: all of them.'),
      })
      .nullable()
      .describe('What a worker of a user offers; null for other nodes.'),
    shards: z.int().describe('Slices of the agenda that it watches.'),
    startedAt: Stored,
    beatAt: Stored.describe('When it last showed that it lives.'),
    deadAt: Stored.nullable(),
  })
  .meta({
    id: 'Node',
    example: {
      id: '01a1e128-d49d-7000-92ca-b285fcbd8a00',
      name: 'host-1/4242',
      version: '0.1.0',
      roles: ['api', 'scheduler', 'worker', 'liveness'],
      state: 'alive',
      reason: null,
      detail: null,
      concurrency: 50,
      busy: { count: 3, atLeast: false },
      offers: null,
      shards: 64,
      startedAt: '2026-11-16T08:00:00.000Z',
      beatAt: '2026-11-16T09:00:00.000Z',
      deadAt: null,
    },
  })
export type Node = z.output<typeof Node>

export const NodeList = z.object({ items: z.array(Node) }).meta({ id: 'NodeList' })

export const Shard = z
  .object({
    id: z.int(),
    owner: Uuid.nullable().describe('The node that watches it.'),
    ownerName: z.string().nullable(),
    fence: z.int().describe('Grows with each owner.'),
    isWatched: z.boolean().describe('False: what comes due in it is late until a scheduler takes it.'),
    watchedUntil: Stored.describe('When somebody last said that he watches it.'),
  })
  .meta({ id: 'Shard' })
export type Shard = z.output<typeof Shard>

export const ShardList = z.object({ items: z.array(Shard) }).meta({ id: 'ShardList' })

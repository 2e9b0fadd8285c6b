import { z } from 'zod'
import { REMOTE_ACTIONS } from '../../../core/run/own-labels.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { ROLES } from '../../../runtime/config/choices.ts'
import { Counted } from '../../http/schemas/counted.ts'

const Stored = z.string().meta({ format: 'date-time' })

/** The roles of a node: those of Belfry's own nodes, and `remote` for remote workers. */
const NODE_ROLES = [...ROLES, 'remote'] as const

export const NODE_STATES = ['alive', 'quiet', 'dead'] as const

export const Node = z
  .object({
    id: Uuid,
    name: z.string().describe('Host name and process id.'),
    version: z.string(),
    roles: z
      .array(z.enum(NODE_ROLES))
      .describe('remote: a worker in your own process, which connects to api nodes and not to the database.'),
    state: z
      .enum(NODE_STATES)
      .describe('quiet: more than two heartbeats of the node are overdue. dead: its runs were reclaimed.'),
    reason: z
      .enum(['stopped', 'lost', 'silent'])
      .nullable()
      .describe(
        'Why the node is not alive: it was shut down, it was declared dead, or its heartbeats are overdue.',
      ),
    detail: z.string().nullable().describe('The same in a sentence.'),
    concurrency: z.int().describe('Maximum number of concurrent runs; 0 without the worker role.'),
    busy: Counted.describe(
      'Runs that the node has leased: runs in progress, and up to a second of work claimed ahead.',
    ),
    offers: z
      .object({
        handlers: z.array(z.string()),
        actions: z
          .array(z.enum(REMOTE_ACTIONS))
          .describe('Actions that it performs besides handlers: programs, and calls of tasks with labels.'),
        commands: z.array(z.string()).describe('Programs of its machine that it runs for `exec`.'),
        labels: z.array(z.string()),
        queues: z
          .array(z.string())
          .nullable()
          .describe('Queues that the worker serves; null for all queues.'),
      })
      .nullable()
      .describe('What a remote worker provides; null for other nodes.'),
    programs: z
      .object({
        commands: z.array(z.string()).describe('Commands of its machine that the worker runs.'),
        labels: z.array(z.string()).describe('Labels that tasks can require.'),
      })
      .nullable()
      .describe('What a worker runs for `exec` actions; null if it runs no programs.'),
    shards: z.int().describe('Number of shards that the node watches.'),
    secrets: z
      .enum(['ready', 'no_key', 'other_key'])
      .nullable()
      .describe(
        'Whether the node can read secrets: it has all keys in use, none, or only others. Null for remote workers and older releases.',
      ),
    startedAt: Stored,
    beatAt: Stored.describe('Time of the last heartbeat.'),
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
      programs: { commands: ['/usr/bin/rsync'], labels: [] },
      shards: 64,
      secrets: 'ready',
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
    owner: Uuid.nullable().describe('Node that watches the shard.'),
    ownerName: z.string().nullable(),
    fence: z.int().describe('Increases with each change of owner.'),
    isWatched: z
      .boolean()
      .describe(
        'False if no scheduler watches the shard; runs that come due in it are late until one takes it over.',
      ),
    watchedUntil: Stored.describe('Time of the last heartbeat for the shard.'),
  })
  .meta({ id: 'Shard' })
export type Shard = z.output<typeof Shard>

export const ShardList = z.object({ items: z.array(Shard) }).meta({ id: 'ShardList' })

/** The nodes, and the shards that they watch. */

import { offerOfLabels } from '../../../core/run/own-labels.ts'
import { utc } from '../../../core/values/utc.ts'
import {
  allNodes,
  allShards,
  isWatched,
  type NodeView,
  nodesOfProject,
} from '../../../operations/overview/cluster.ts'
import type { ShardState } from '../../../store/nodes/cluster.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { nodeNameFor } from './node-name.ts'
import { type Node, NodeList, type Shard, ShardList } from './schemas.ts'

const tags = ['cluster']

const nodes = {
  operationId: 'listNodes',
  tags,
  summary: 'List nodes: live nodes first, then those that died in the last week',
  response: { 200: NodeList, ...problems() },
}

const workers = {
  operationId: 'listWorkers',
  tags,
  summary: 'List workers: nodes that perform runs, and your own workers',
  response: { 200: NodeList, ...problems() },
}

const shards = {
  operationId: 'listShards',
  tags,
  summary: 'List the shards of the agenda and their owners',
  response: { 200: ShardList, ...problems() },
}

export function clusterRoutes(app: App): void {
  app.get('/v1/nodes', { schema: nodes, config: { access: 'inspect' } }, async ({ context }) => ({
    items: (await allNodes(context)).map(presentNode),
  }))

  app.get('/v1/workers', { schema: workers, config: { access: 'read' } }, async ({ context }) => {
    const all = await nodesOfProject(context)
    const isWorker = ({ roles }: NodeView) => roles.includes('worker') || roles.includes('remote')
    const nameOf = nodeNameFor(context)
    // The names of the project's own workers are its business.
    const named = (node: NodeView) => (node.offers ? node : { ...node, name: nameOf(node) })
    return { items: all.filter(isWorker).map((node) => presentNode(named(node))) }
  })

  app.get('/v1/shards', { schema: shards, config: { access: 'inspect' } }, async ({ context }) => ({
    items: (await allShards(context)).map(presentShard),
  }))
}

function presentNode(node: NodeView): Node {
  return {
    id: node.id,
    name: node.name,
    version: node.version,
    roles: [...node.roles] as Node['roles'],
    state: node.state,
    reason: node.why,
    detail: sentenceAbout(node),
    concurrency: node.concurrency,
    busy: node.busy,
    offers: node.offers && presentOffers(node.offers),
    programs: programsOf(node),
    shards: node.shards,
    secrets: node.secrets,
    startedAt: utc(node.startedAt),
    beatAt: utc(node.beatAt),
    deadAt: node.deadAt === null ? null : utc(node.deadAt),
  }
}

/** The actions that a worker performs are stored as labels. */
function presentOffers({ handlers, labels, queues }: NonNullable<NodeView['offers']>): Node['offers'] {
  const offer = offerOfLabels(labels)
  return {
    handlers,
    actions: [...offer.actions],
    commands: [...offer.commands],
    labels: [...offer.labels],
    queues,
  }
}

/** Returns what a worker can run for `exec`, whether it is part of a node or remote. */
function programsOf({ labels: all }: NodeView): Node['programs'] {
  const { actions, commands, labels } = offerOfLabels(all)
  return actions.includes('exec') ? { commands: [...commands], labels: [...labels] } : null
}

function sentenceAbout({ why, silentMs }: NodeView): string | null {
  switch (why) {
    case null:
      return null
    case 'stopped':
      return 'The node was shut down cleanly.'
    case 'lost':
      return 'The node stopped sending heartbeats, was declared dead, and its runs were reclaimed.'
    case 'silent':
      return `The node has not sent a heartbeat for ${Math.round(silentMs / 1_000)} s.`
  }
}

function presentShard(shard: ShardState): Shard {
  const { id, owner, ownerName, fence, watchedUntil } = shard
  return { id, owner, ownerName, fence, isWatched: isWatched(shard), watchedUntil: utc(watchedUntil) }
}

import { formatCount } from '../../../src/core/words/time.ts'
import type { Node } from '../../api/overview.ts'
import { countWords } from '../../components/count-words.ts'
import { Distance, Instant } from '../../components/instant.tsx'
import type { AnyState } from '../../components/state.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { Table } from '../../components/table.tsx'
import classes from './nodes-screen.module.css'

/** The state of a node uses the shape and colour of the run state that matches it. */
const LOOK_LIKE: Readonly<Record<Node['state'], AnyState>> = {
  alive: 'completed',
  quiet: 'worker_lost',
  dead: 'cancelled',
}

const COLUMNS = [
  'State',
  'Name',
  'Roles',
  'Version',
  'Runs / slots',
  'Shards',
  'Last heartbeat',
  'Started',
] as const

export function NodeTable({ nodes, label }: { readonly nodes: readonly Node[]; readonly label: string }) {
  return (
    <Table label={label} columns={COLUMNS}>
      {nodes.map((node) => (
        <NodeRow key={node.id} node={node} />
      ))}
    </Table>
  )
}

function NodeRow({ node }: { readonly node: Node }) {
  return (
    <tr>
      <td>
        <span title={node.detail ?? undefined}>
          <StateMark state={LOOK_LIKE[node.state]} text={node.state} />
          {node.reason && <span className={classes.small}> {node.reason}</span>}
        </span>
      </td>
      <th scope="row" title={node.id}>
        {node.name}
      </th>
      <td data-label="roles" data-wide>
        {node.roles.join(' ')}
        {node.offers && <div className={classes.small}>{offerOf(node.offers)}</div>}
      </td>
      <td data-label="version">{node.version}</td>
      <td data-label="runs">
        {node.concurrency === 0 ? '–' : `${countWords(node.busy)} / ${formatCount(node.concurrency)}`}
      </td>
      <td data-label="shards">{node.shards}</td>
      <td data-label="heartbeat">
        <Distance at={node.deadAt ?? node.beatAt} />
      </td>
      <td data-label="started" data-wide>
        <Instant at={node.startedAt} />
      </td>
    </tr>
  )
}

/** What a user's worker offers: `exec http · /usr/bin/rsync · resize crop · gpu · queue images`. */
function offerOf({ actions, commands, handlers, labels, queues }: NonNullable<Node['offers']>): string {
  const lists = [actions, commands, handlers, labels].map((list) => list.join(' '))
  const words = [...lists, queues ? `queue ${queues.join(' ')}` : '']
  return words.filter((word) => word !== '').join(' · ')
}

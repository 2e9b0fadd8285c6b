import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Target } from '../../api/wire.ts'
import { Distance } from '../../components/instant.tsx'
import { Table } from '../../components/table.tsx'
import { TargetMark } from './target-mark.tsx'
import { failedWords } from './target-table.tsx'

const COLUMNS = ['State', 'Node', 'Calls / limit', 'p95', 'Failed (last minute)', 'Next probe'] as const

/** The state of the target as each node reports it: limits and circuits are kept in the memory of nodes. */
export function TargetNodes({ nodes }: { readonly nodes: Target['nodes'] }) {
  return (
    <Table label="By node" columns={COLUMNS}>
      {nodes.map((node) => (
        <tr key={node.nodeId}>
          <td>
            <TargetMark state={node.state} />
          </td>
          <th scope="row" title={node.nodeId}>
            {node.name}
          </th>
          <td data-label="calls">
            {formatCount(node.underWay)} / {formatCount(node.limit.current)}
          </td>
          <td data-label="p95">{node.latency === null ? '–' : formatDuration(node.latency.p95)}</td>
          <td data-label="failed">{failedWords(node)}</td>
          <td data-label="next probe">
            {node.circuit.nextProbeAt === null ? '–' : <Distance at={node.circuit.nextProbeAt} />}
          </td>
        </tr>
      ))}
    </Table>
  )
}

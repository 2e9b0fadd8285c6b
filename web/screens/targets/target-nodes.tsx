import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Target } from '../../api/wire.ts'
import { Distance } from '../../components/instant.tsx'
import { TargetMark } from './target-mark.tsx'
import { failedWords } from './target-table.tsx'
import classes from './targets.module.css'

/** What each node reports of a target: limits and circuits live in the memory of nodes. */
export function TargetNodes({ nodes }: { readonly nodes: Target['nodes'] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="By node">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Node</th>
            <th scope="col">Calls / limit</th>
            <th scope="col">p95</th>
            <th scope="col">Failed (last minute)</th>
            <th scope="col">Next probe</th>
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </div>
  )
}

/** Nodes and workers: what each one holds, and which shards of the agenda it watches. */
import { useQuery } from '@tanstack/react-query'
import { type Node, nodesQuery, shardsQuery } from '../../api/overview.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { ServerLine } from '../../components/server-line.tsx'
import { NodeTable } from './node-table.tsx'
import classes from './nodes-screen.module.css'
import { ShardMap } from './shard-map.tsx'

export function NodesScreen() {
  const nodes = useQuery(nodesQuery)
  const shards = useQuery(shardsQuery)
  const error = nodes.error ?? shards.error
  if (error && (!nodes.data || !shards.data))
    return <Failure error={error} onRetry={() => void Promise.all([nodes.refetch(), shards.refetch()])} />
  if (!nodes.data || !shards.data) return <Bones count={3} />
  const isHere = ({ state }: Node) => state !== 'dead'
  const here = nodes.data.filter(isHere)
  const gone = nodes.data.filter((node) => !isHere(node))
  return (
    <Screen title="Nodes, workers and shards">
      <Panel title={here.length === 1 ? 'One node' : `${here.length} nodes`} flush>
        <NodeTable nodes={here} label="Nodes" />
      </Panel>
      <ShardMap shards={shards.data} nodes={here} />
      <ServerLine />
      {gone.length > 0 && (
        <details>
          <summary className={classes.summary}>
            {gone.length} former {gone.length === 1 ? 'node' : 'nodes'} (last 7 days)
          </summary>
          <div className={classes.gone}>
            <Panel title="Former nodes" flush>
              <NodeTable nodes={gone} label="Former nodes" />
            </Panel>
          </div>
        </details>
      )}
    </Screen>
  )
}

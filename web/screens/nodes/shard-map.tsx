/**
 * The shards of the agenda, one square each. The letter names the node that watches the shard; a square without a letter is
 * watched by no node.
 */
import type { Node, Shard } from '../../api/overview.ts'
import { Panel } from '../../components/panel.tsx'
import classes from './nodes-screen.module.css'

const COLOURS = [
  '--running',
  '--completed',
  '--pending',
  '--retrying',
  '--scheduled',
  '--failed-attempt',
  '--warning',
  '--idle',
]
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

interface Mark {
  readonly letter: string
  readonly colour: string
}

export function ShardMap({
  shards,
  nodes,
}: {
  readonly shards: readonly Shard[]
  readonly nodes: readonly Node[]
}) {
  const owners = [
    ...new Set(shards.flatMap(({ owner, isWatched }) => (owner && isWatched ? [owner] : []))),
  ].sort()
  const markOf = (owner: string): Mark => {
    const index = owners.indexOf(owner)
    return {
      letter: LETTERS[index % LETTERS.length] ?? '?',
      colour: COLOURS[index % COLOURS.length] ?? '--idle',
    }
  }
  const unwatched = shards.filter(({ isWatched }) => !isWatched).length
  return (
    <Panel
      title={`${shards.length} shards`}
      aside={
        <span className={unwatched > 0 ? classes.bad : classes.small}>
          {unwatched === 0 ? 'all watched' : `${unwatched} unwatched`}
        </span>
      }
    >
      <ul className={classes.legend}>
        {owners.map((owner) => (
          <li key={owner} style={{ color: `var(${markOf(owner).colour})` }}>
            <strong>{markOf(owner).letter}</strong>{' '}
            {nodes.find(({ id }) => id === owner)?.name ?? owner.slice(0, 13)},{' '}
            {shards.filter((shard) => shard.owner === owner && shard.isWatched).length} shards
          </li>
        ))}
      </ul>
      <div
        className={classes.map}
        role="img"
        aria-label={`${shards.length - unwatched} of ${shards.length} shards are watched`}
      >
        {shards.map((shard) => (
          <Square
            key={shard.id}
            shard={shard}
            mark={shard.owner && shard.isWatched ? markOf(shard.owner) : null}
          />
        ))}
      </div>
    </Panel>
  )
}

function Square({ shard, mark }: { readonly shard: Shard; readonly mark: Mark | null }) {
  const who = mark ? `watched by ${shard.ownerName ?? shard.owner}` : 'unwatched'
  return (
    <span
      className={classes.square}
      data-watched={mark !== null}
      style={mark ? { color: `var(${mark.colour})` } : undefined}
      title={`shard ${shard.id}, ${who}, fence ${shard.fence}`}
    >
      {mark?.letter ?? '!'}
    </span>
  )
}

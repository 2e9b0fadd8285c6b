/**
 * Shards that held more rows than one read returned. If the last rows read are all due at one instant, there is a crowd: very
 * many runs of one task, of one queue, or at the full hour. Rows due after that instant must not wait until the whole crowd has
 * been read, so they are read separately.
 */
import type { DueRow } from '../store/agenda/look-ahead.ts'

/** A shard that had at least as many rows as the read allowed. */
export interface FullShard {
  readonly shard: number
  /** The last instant that the read reached, and how many of the rows are due then. */
  readonly lastAt: number
  readonly atLast: number
  readonly count: number
}

/** Shards that are crowded at the same instant. */
export interface Crowd {
  readonly at: number
  readonly shards: readonly number[]
}

/** Each crowd costs a separate statement. */
const MAX_CROWDS = 4
/** There is a crowd if at least this share of the rows read from a shard is due at the last instant. */
const CROWDED_SHARE = 0.5

export function fullShards(rows: readonly DueRow[], limitPerShard: number): FullShard[] {
  if (rows.length < limitPerShard) return []
  const seen = new Map<number, { shard: number; lastAt: number; atLast: number; count: number }>()
  for (const { shard, wakeAt } of rows) {
    const known = seen.get(shard)
    if (!known) seen.set(shard, { shard, lastAt: wakeAt, atLast: 1, count: 1 })
    else {
      known.count++
      if (wakeAt === known.lastAt) known.atLast++
      if (wakeAt <= known.lastAt) continue
      known.lastAt = wakeAt
      known.atLast = 1
    }
  }
  return [...seen.values()].filter(({ count }) => count >= limitPerShard)
}

/**
 * Returns the crowds that kept the shards from being read completely; empty if there is another cause or there are too many
 * crowds.
 */
export function crowdsIn(full: readonly FullShard[]): Crowd[] {
  const crowds = new Map<number, number[]>()
  for (const { shard, lastAt, atLast, count } of full) {
    if (atLast < count * CROWDED_SHARE) return []
    crowds.set(lastAt, [...(crowds.get(lastAt) ?? []), shard])
  }
  return crowds.size > MAX_CROWDS ? [] : [...crowds].map(([at, shards]) => ({ at, shards }))
}

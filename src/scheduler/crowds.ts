/**
 * Shards of which more was there than was read. Where the rows that were read last are all due at one instant, a crowd is: very many
 * runs of one task, of one queue, or of a full hour. What comes after that instant must not wait until the whole crowd
 * was read, so it is read on its own.
 */
import type { DueRow } from '../store/agenda/agenda.ts'

/** A shard that had at least as many rows as were read of it. */
export interface FullShard {
  readonly shard: number
  /** The instant that the reading got to, and how many of the rows are due then. */
  readonly lastAt: number
  readonly atLast: number
  readonly count: number
}

/** Shards that are crowded at the same instant. */
export interface Crowd {
  readonly at: number
  readonly shards: readonly number[]
}

/** Each of them is a statement of its own. */
const MAX_CROWDS = 4
/** Of the rows that were read of a shard, this share is due at the last instant where there is a crowd. */
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

/** The crowds that keep the shards from being read whole; none when it is something else that does, or they are too many. */
export function crowdsIn(full: readonly FullShard[]): Crowd[] {
  const crowds = new Map<number, number[]>()
  for (const { shard, lastAt, atLast, count } of full) {
    if (atLast < count * CROWDED_SHARE) return []
    crowds.set(lastAt, [...(crowds.get(lastAt) ?? []), shard])
  }
  return crowds.size > MAX_CROWDS ? [] : [...crowds].map(([at, shards]) => ({ at, shards }))
}

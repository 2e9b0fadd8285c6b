/**
 * Intervals and batch sizes of four well-known scheduler designs, for users who come from one. A
 * preset changes only defaults: what is set explicitly wins. docs/reference/presets.md says which figure
 * follows from what.
 */
import type { Config } from './settings.ts'

export const PRESET_NAMES = [
  'default',
  'batch-windows',
  'minute-cron',
  'frequent-scan',
  'small-batches',
] as const
export type PresetName = (typeof PRESET_NAMES)[number]

export const PRESETS: { readonly [name in PresetName]: Readonly<Partial<Config>> } = {
  default: {},
  // Reads the database every ten minutes, for the next ten; workers wait five seconds for a batch.
  'batch-windows': { lookEveryMs: 600_000, lookAheadMs: 1_200_000, claimEveryMs: 5_000 },
  // Looks every minute, refreshes every ten seconds, gives up on who is silent for thirty; periods from a minute to 30 days.
  'minute-cron': {
    heartbeatMs: 10_000,
    leaseMs: 30_000,
    reaperMs: 10_000,
    lookEveryMs: 60_000,
    lookAheadMs: 120_000,
    lookRows: 10_000,
    shardBeatMs: 10_000,
    shardTakeoverMs: 30_000,
    minPeriodMs: 60_000,
    maxAheadDays: 30,
  },
  // Looks every five seconds at ten thousand keys, and begins within ten seconds whatever happens.
  'frequent-scan': {
    lookEveryMs: 5_000,
    lookAheadMs: 10_000,
    lookRows: 10_000,
    shardBeatMs: 2_000,
    shardTakeoverMs: 6_000,
  },
  // Takes twenty rows a pass up to thirty seconds ahead, and finds the dead ten at a time after twenty.
  'small-batches': {
    heartbeatMs: 5_000,
    leaseMs: 20_000,
    reaperMs: 5_000,
    reclaimBatch: 10,
    lookAheadMs: 30_000,
    fireBatch: 20,
    housekeepingMs: 300_000,
    deadNodeMinutes: 20,
  },
}

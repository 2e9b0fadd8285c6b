/**
 * Intervals and batch sizes of four well-known scheduler designs, for users who come from one. A preset changes only defaults:
 * explicit settings take precedence. docs/reference/presets.md explains each figure.
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
  // Reads the database every ten minutes. The design reads ten minutes ahead, which is doubled here. Workers wait five seconds
  // for a batch.
  'batch-windows': { lookEveryMs: 600_000, lookAheadMs: 1_200_000, claimEveryMs: 5_000 },
  // Polls every minute, sends heartbeats every ten seconds, and declares nodes dead after thirty. Periods are from a minute to
  // 30 days.
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
  // Reads ten thousand keys every five seconds, so that runs start within ten seconds even after a node dies.
  'frequent-scan': {
    lookEveryMs: 5_000,
    lookAheadMs: 10_000,
    lookRows: 10_000,
    shardBeatMs: 2_000,
    shardTakeoverMs: 6_000,
  },
  // Reads thirty seconds ahead, fires twenty rows per pass, and reclaims ten runs at a time from nodes that were silent for
  // twenty seconds.
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

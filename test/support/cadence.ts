/**
 * The cadences that scenarios run under, and what follows from them: the defaults, or those of the preset that
 * BELFRY_TEST_PRESET names, as `npm run suite presets` does for each in turn.
 */
import { readConfig } from '../../src/runtime/config/config.ts'

const preset = process.env['BELFRY_TEST_PRESET'] ?? 'default'
const isDefault = preset === 'default'

export const CADENCE = readConfig({ flags: { preset }, env: {}, file: null, cwd: '/' })

/** Flags of every node of a scenario; no preset may forbid the short periods that scenarios use. */
export const PRESET_FLAGS: readonly string[] = isDefault
  ? []
  : ['--preset', preset, '--min-period-ms', '10', '--max-ahead-days', '0']

/**
 * The longest delay of the database that can be set before a node refuses requests. Tests share a machine, on which a trivial
 * query may take longer than by default; that a node refuses requests then is tested with its own bound.
 */
export const SLOW_DATABASE_MS = 60_000

/** A dead node is noticed soon, for scenarios that are not about how soon; a preset keeps its own cadences. */
export const QUICK: readonly string[] = isDefault
  ? ['--heartbeat-ms', '300', '--lease-ms', '2000', '--reaper-ms', '300']
  : []

/**
 * Like `QUICK`, for scenarios with a live node that must not be declared dead: neither because the machine is busy with other
 * tests, nor because heartbeats of remote workers go through the node's main thread.
 */
export const STEADY: readonly string[] = isDefault
  ? ['--heartbeat-ms', '500', '--lease-ms', '5000', '--reaper-ms', '500']
  : []

/** For a machine with two cores that also runs other tests. */
const MARGIN_MS = 20_000

/** Other workers have the runs of a dead node within this time, and not before `REAPED_AFTER_MS`. */
export const REAPED_WITHIN_MS = CADENCE.leaseMs + 2 * CADENCE.reaperMs + MARGIN_MS
export const REAPED_AFTER_MS = CADENCE.leaseMs - CADENCE.heartbeatMs

/** Shards of a dead owner are watched again within this time. */
export const SHARDS_WITHIN_MS = CADENCE.shardTakeoverMs + 2 * CADENCE.shardBeatMs + MARGIN_MS

/** Returns a bound that holds with the default cadences, lengthened for slower ones. */
export const within = (ms: number) =>
  isDefault ? ms : ms + REAPED_WITHIN_MS + SHARDS_WITHIN_MS + 2 * CADENCE.claimEveryMs

/**
 * The cadences that scenarios run under, and what follows from them: the defaults, or those of the preset that
 * BELFRY_TEST_PRESET names, as `npm run suite presets` does for each in turn.
 */
import { readConfig } from '../../src/runtime/config/config.ts'

const preset = process.env['BELFRY_TEST_PRESET'] ?? 'default'
const isDefault = preset === 'default'

export const CADENCE = readConfig({ flags: { preset }, env: {}, file: null, cwd: '/' })

/** What every node of a scenario is started with; periods as the scenarios have them are for no preset to forbid. */
export const PRESET_FLAGS: readonly string[] = isDefault
  ? []
  : ['--preset', preset, '--min-period-ms', '10', '--max-ahead-days', '0']

/** A dead node is noticed soon, for scenarios that are not about how soon; a preset keeps its own cadences. */
export const QUICK: readonly string[] = isDefault
  ? ['--heartbeat-ms', '300', '--lease-ms', '2000', '--reaper-ms', '300']
  : []

/**
 * The same where a node lives that must not be suspected: however slow it is meanwhile on a machine that is busy with
 * other tests, and though beats of remote workers go through its main thread.
 */
export const STEADY: readonly string[] = isDefault
  ? ['--heartbeat-ms', '500', '--lease-ms', '5000', '--reaper-ms', '500']
  : []

/** Two cores, and whatever else runs on them. */
const MARGIN_MS = 20_000

/** The runs of a node that died are in other hands by then, and not before `REAPED_AFTER_MS`. */
export const REAPED_WITHIN_MS = CADENCE.leaseMs + 2 * CADENCE.reaperMs + MARGIN_MS
export const REAPED_AFTER_MS = CADENCE.leaseMs - CADENCE.heartbeatMs

/** Shards whose owner died are watched again by then. */
export const SHARDS_WITHIN_MS = CADENCE.shardTakeoverMs + 2 * CADENCE.shardBeatMs + MARGIN_MS

/** A bound that holds with the defaults, and with slower cadences for as much longer as they take. */
export const within = (ms: number) =>
  isDefault ? ms : ms + REAPED_WITHIN_MS + SHARDS_WITHIN_MS + 2 * CADENCE.claimEveryMs

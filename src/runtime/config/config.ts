/**
 * The configuration, read once into a frozen object. Order of precedence: flags, environment, file, presets, defaults. No other
 * folder reads the environment.
 */

import { ConfigError } from './config-error.ts'
import { contradiction, GRACE_IN_TAKEOVERS } from './consistency.ts'
import { PRESETS } from './presets.ts'
import { CONFIG_KEYS, type Config, flagOf, SETTINGS } from './settings.ts'
import { type ConfigSources, valuesOf } from './sources.ts'

export function readConfig(sources: ConfigSources): Config {
  const given = valuesOf(sources)
  const config: Config = { ...defaultsBeside(given), ...given }
  const problem = contradiction(config, { flagOf, isGiven: (key) => key in given })
  if (problem) throw new ConfigError(problem)
  return Object.freeze(config)
}

/** Maximum polling interval of a node that receives no wake-ups. */
const UNHEARD_MS = 200

/** The defaults of all settings, some of which depend on the given values. */
function defaultsBeside(given: Partial<Config>): Config {
  const ordinary = Object.fromEntries(CONFIG_KEYS.map((key) => [key, SETTINGS[key].default]))
  const preset = {
    ...ordinary,
    ...portBeside(given),
    ...PRESETS[given.preset ?? 'default'],
  } as unknown as Config
  const takeoverMs = given.shardTakeoverMs ?? preset.shardTakeoverMs
  const misfireGraceMs = Math.max(preset.misfireGraceMs, GRACE_IN_TAKEOVERS * takeoverMs)
  const defaults = { ...preset, misfireGraceMs }
  if (given.databasePooling !== 'transaction' || given.databaseDirectUrl) return defaults
  const sooner = (ms: number) => Math.min(ms, UNHEARD_MS)
  return {
    ...defaults,
    lookEveryMs: sooner(defaults.lookEveryMs),
    claimEveryMs: sooner(defaults.claimEveryMs),
  }
}

/**
 * Without the api role, the port is for probes only, so any free one is used: a node with that role on the same machine has the
 * usual one.
 */
const portBeside = ({ roles }: Partial<Config>): { port?: number } =>
  roles === undefined || roles.includes('api') ? {} : { port: 0 }

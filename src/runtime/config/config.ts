/**
 * Configuration, read once into a frozen object: flags over environment over file over presets over defaults. No other
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

/** Who hears no wake-ups looks this often for what others have created. */
const UNHEARD_MS = 200

/** What holds where nothing was said, beside what was. */
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

/** Without the api role the port is for probes only, and beside a node that has it the usual one is taken. */
const portBeside = ({ roles }: Partial<Config>): { port?: number } =>
  roles === undefined || roles.includes('api') ? {} : { port: 0 }

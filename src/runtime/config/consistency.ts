/** Settings that are valid individually but not in combination. */

import { PRESETS } from './presets.ts'
import type { Config, ConfigKey } from './settings.ts'

type Figure = { [K in ConfigKey]: Config[K] extends number ? K : never }[ConfigKey]

/** Requires that one setting is at least a multiple of another. */
interface Ratio {
  readonly longer: Figure
  readonly times: number
  readonly shorter: Figure
  /** The reason, as the end of a sentence. */
  readonly otherwise: string
}

/** After the death of a node, another one has its shards within this many takeover periods. */
export const GRACE_IN_TAKEOVERS = 2

const RATIOS: readonly Ratio[] = [
  {
    longer: 'leaseMs',
    times: 3,
    shorter: 'heartbeatMs',
    otherwise: 'the lease must be longer than the heartbeat interval',
  },
  {
    longer: 'leaseMs',
    times: 1,
    shorter: 'reaperMs',
    otherwise: 'the reaper must check at least once per lease',
  },
  {
    longer: 'shardTakeoverMs',
    times: 3,
    shorter: 'shardBeatMs',
    otherwise: 'otherwise a slow scheduler would lose its shards',
  },
  {
    longer: 'misfireGraceMs',
    times: GRACE_IN_TAKEOVERS,
    shorter: 'shardTakeoverMs',
    otherwise: 'otherwise a takeover would treat due occurrences as missed',
  },
  {
    longer: 'lookAheadMs',
    times: 2,
    shorter: 'lookEveryMs',
    otherwise: 'otherwise a run that comes due between two reads would be late',
  },
]

/** The source of the values of a configuration. */
interface Origin {
  flagOf(key: ConfigKey): string
  isGiven(key: ConfigKey): boolean
}

/** Describes a conflict between settings and how to resolve it; undefined if there is none. */
export function contradiction(config: Config, origin: Origin): string | undefined {
  return (
    withoutDatabase(config, origin) ??
    halfACertificate(config, origin) ??
    incompleteSignIn(config, origin) ??
    outOfRatio(config, origin)
  )
}

function withoutDatabase(config: Config, { flagOf }: Origin): string | undefined {
  if (config.databaseUrl !== null) return undefined
  const idle =
    config.databasePooling === 'session' ? null : `${flagOf('databasePooling')} is ${config.databasePooling}`
  const given = config.databaseDirectUrl === null ? idle : `${flagOf('databaseDirectUrl')} is given`
  return given === null
    ? undefined
    : `${given} without ${flagOf('databaseUrl')}, but the embedded database has no pooler.`
}

function halfACertificate({ tlsCert, tlsKey }: Config, { flagOf }: Origin): string | undefined {
  if ((tlsCert === null) === (tlsKey === null)) return undefined
  const [given, missing] =
    tlsKey === null ? (['tlsCert', 'tlsKey'] as const) : (['tlsKey', 'tlsCert'] as const)
  return `${flagOf(given)} is given without ${flagOf(missing)}; TLS needs both.`
}

/**
 * Signing in requires a client id and the public address to which people return. Without a provider, the other settings for
 * signing in have no effect.
 */
function incompleteSignIn(config: Config, { flagOf, isGiven }: Origin): string | undefined {
  if (config.oidcIssuer === null) {
    const idle = (['oidcClientId', 'oidcClientSecret', 'oidcScopes', 'oidcGroupsClaim'] as const).find(
      isGiven,
    )
    return idle === undefined ? undefined : `${flagOf(idle)} is given without ${flagOf('oidcIssuer')}.`
  }
  if (config.oidcClientId === null)
    return `${flagOf('oidcIssuer')} is given without ${flagOf('oidcClientId')}: register Belfry at the provider, which assigns the id.`
  if (config.publicUrl === null)
    return `${flagOf('oidcIssuer')} is given without ${flagOf('publicUrl')}, the address at which people open the dashboard.`
  return undefined
}

function outOfRatio(config: Config, { flagOf, isGiven }: Origin): string | undefined {
  const told = (key: Figure) => {
    const isPreset = !isGiven(key) && PRESETS[config.preset][key] !== undefined
    return isPreset ? `${flagOf(key)} (${flagOf('preset')} ${config.preset})` : flagOf(key)
  }
  for (const { longer, times, shorter, otherwise } of RATIOS) {
    const least = config[shorter] * times
    if (config[longer] >= least) continue
    const factor = times === 1 ? '' : `${times} times `
    return (
      `${told(longer)} is ${config[longer]}; it must be at least ${factor}${told(shorter)}, ` +
      `which is ${least}: ${otherwise}.`
    )
  }
  return undefined
}

/**
 * The private networks that the calls of a project may reach, if the project restricts them. A project can only restrict what
 * the installation allows: both are checked. If no project has restrictions, the cost is a lookup in an empty map.
 */
import { type Network, networkText, parseNetwork } from '../core/values/network.ts'

/** The only private networks that some requests may reach. */
export interface Confinement {
  /** Equal for equal networks. Connections made under one key are not shared with other requests. */
  readonly key: string
  readonly networks: readonly Network[]
}

/**
 * The settings of a project could not be read, so nothing was sent. The run is handed back, and claimed again when the database
 * answers.
 */
export class SettingsUnread extends Error {
  readonly code = 'settings_unread'

  constructor(cause: unknown) {
    super('the settings of the project could not be read from the database', { cause })
  }
}

/** Looks up the networks of projects. */
export interface ProjectNetworks {
  /** Returns undefined for a project without restrictions; a promise if they must be read first, rejected with `SettingsUnread`. */
  of(projectId: string): Confinement | undefined | Promise<Confinement | undefined>
}

/** For requests that belong to no project. */
export const UNCONFINED: ProjectNetworks = { of: () => undefined }

/** Parses a confinement; networks that cannot be parsed are not allowed. */
export function confinementOf(texts: readonly string[]): Confinement {
  const networks = texts.flatMap((text) => parseNetwork(text) ?? [])
  return { key: networks.map(networkText).sort().join(' '), networks }
}

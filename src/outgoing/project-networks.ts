/**
 * Which private networks the calls of a project may reach, where it says so itself. A project can only give up what the
 * installation allows: both are asked. Where no project says anything it costs a look at an empty map.
 */
import { type Network, networkText, parseNetwork } from '../core/values/network.ts'

/** The private networks that some requests must not leave. */
export interface Confinement {
  /** The same for the same networks: what is connected under one is used by nobody else. */
  readonly key: string
  readonly networks: readonly Network[]
}

/** Tells the networks of projects. */
export interface ProjectNetworks {
  /** Undefined for a project that says nothing. */
  of(projectId: string): Confinement | undefined
}

/** For requests of no project. */
export const UNCONFINED: ProjectNetworks = { of: () => undefined }

/** What cannot be read allows nothing. */
export function confinementOf(texts: readonly string[]): Confinement {
  const networks = texts.flatMap((text) => parseNetwork(text) ?? [])
  return { key: networks.map(networkText).sort().join(' '), networks }
}

/** The worker versions that may perform actions: older ones do not perform them as tasks require. */

/** The first release whose workers perform actions. */
export const MIN_WORKER_VERSION = '0.2.0'

export const isTooOld = (version: string): boolean => {
  const numbers = numbersOf(version)
  return numbers === null || compare(numbers, numbersOf(MIN_WORKER_VERSION) ?? []) < 0
}

/** Why a worker of this version is rejected. */
export const tooOld = (version: string): string =>
  version === ''
    ? `A worker that performs actions must send its version, ${MIN_WORKER_VERSION} or newer.`
    : `This worker is of version ${version.slice(0, MAX_SHOWN)}; this server works with ${MIN_WORKER_VERSION} or newer. Update the worker and start it again.`

const MAX_SHOWN = 40

function numbersOf(version: string): readonly number[] | null {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+]|$)/.exec(version)
  return match?.slice(1).map(Number) ?? null
}

function compare(some: readonly number[], others: readonly number[]): number {
  const at = some.findIndex((number, i) => number !== others[i])
  return at < 0 ? 0 : (some[at] ?? 0) - (others[at] ?? 0)
}

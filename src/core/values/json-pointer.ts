const MAX_STEP_CHARACTERS = 100

/** JSON pointer (RFC 6901) of a path. Very long names are cut. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${escapeStep(String(step).slice(0, MAX_STEP_CHARACTERS))}`).join('')
}

const escapeStep = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')

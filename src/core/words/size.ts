const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes for people, with at most one decimal: `17 bytes`, `1.4 KiB`, `256 MiB`. */
export function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} byte${bytes === 1 ? '' : 's'}`
  let size = bytes
  let unit = -1
  // A size that would be rounded to 1024 is shown in the next unit.
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${Number(size.toFixed(size < 100 ? 1 : 0))} ${UNITS[unit]}`
}

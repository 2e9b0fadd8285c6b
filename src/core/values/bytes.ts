/** Sizes as people write them: `512KiB`, `256MiB`, `1.5GiB`. This text is both the input and the stored form. */

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
}

/** Much longer than any valid size. */
const MAX_LENGTH = 32

export type ParsedBytes =
  | { readonly ok: true; readonly bytes: number }
  | { readonly ok: false; readonly reason: string }

const refuse = (reason: string): ParsedBytes => ({ ok: false, reason })

/** Reads a size such as `256MiB`: a number and a unit. Fractions of a byte are dropped. */
export function parseBytes(text: string): ParsedBytes {
  const [, number = '', unit = ''] =
    (text.length <= MAX_LENGTH && /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]*)$/.exec(text)) || []
  if (number === '') return refuse('must be a size such as "256MiB"')
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined
  if (unit === '') return refuse(`has no unit; write "${number}MiB" for mebibytes`)
  if (factor === undefined)
    return refuse(`has the unknown unit ${unit}; the units are ${Object.keys(UNITS).join(', ')}`)
  return { ok: true, bytes: Math.floor(Number(number) * factor) }
}

/** Parses a size that was validated before. */
export function bytesOf(text: string): number {
  const parsed = parseBytes(text)
  if (!parsed.ok) throw new Error(`stored size '${text}' ${parsed.reason}`)
  return parsed.bytes
}

/** A number of bytes in the largest unit that divides it. */
export function bytesText(bytes: number): string {
  const [unit, factor] = Object.entries(UNITS).findLast(([, size]) => bytes % size === 0) ?? ['B', 1]
  return bytes === 0 ? '0B' : `${bytes / factor}${unit}`
}

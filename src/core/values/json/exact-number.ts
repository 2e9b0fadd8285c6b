/**
 * Which JSON numbers keep their value when they are parsed. Programs parse them as doubles, which hold about 16 digits up to
 * 1.8e308.
 */

/** Numbers with at most this many characters and no exponent always keep their value: a double holds any 15 digits. */
export const ALWAYS_KEPT_CHARACTERS = 15

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Whether a number keeps its value when it is parsed and written again. Text that is not a number is left to the parser. */
export function isKeptExactly(literal: string): boolean {
  if (!NUMBER.test(literal)) return true
  const read = Number(literal)
  return Number.isFinite(read) && decimalOf(literal) === decimalOf(String(read))
}

const MAX_DIGITS_SHOWN = 40

/** What is wrong with a number that would not keep its value, worded to follow the name of its field. */
export function inexactWords(literal: string): string {
  const shown = literal.length > MAX_DIGITS_SHOWN ? `${literal.slice(0, MAX_DIGITS_SHOWN)}…` : literal
  const read = Number(literal)
  const instead = Number.isFinite(read) ? `would be stored as ${read}` : 'is beyond the range of a double'
  return `is ${shown}, which ${instead}; send a number that a double can represent exactly, or a string`
}

/** The value as an integer without leading or trailing zeros, and a power of ten. */
function decimalOf(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = whole + fraction
  let [first, end] = [0, digits.length]
  while (end > 0 && digits[end - 1] === '0') end -= 1
  while (first < end && digits[first] === '0') first += 1
  if (first === end) return '0'
  return `${sign}${digits.slice(first, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

import { inexactWords } from './exact-number.ts'
import { JsonScan } from './json-scan.ts'

/** Deeper than any server accepts. */
const DEPTH = 1_000

/** Finds a number in JSON text that would not keep its value, and what it would become; null if there is none. */
export function changedNumber(text: string): string | null {
  const scan = new JsonScan(new TextEncoder().encode(text), {
    depth: DEPTH,
    values: Number.POSITIVE_INFINITY,
  })
  while (!scan.step(text.length + 1));
  const { kind = null, path = [], literal = '' } = scan.flaw ?? {}
  if (kind !== 'number') return null
  return `${path.length === 0 ? 'it' : path.join('.')} ${inexactWords(literal)}`
}

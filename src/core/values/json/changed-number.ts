import { inexactWords } from './exact-number.ts'
import { JsonScan } from './json-scan.ts'

/** Deeper than anything that a server takes. */
const DEPTH = 1_000

/** Which number in JSON text would not keep its value, and what would become of it; null when all would. */
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

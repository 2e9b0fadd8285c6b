/** Looks through a body in turns with everything else that the process does, and refuses what cannot be parsed or kept. */
import { invalidInput } from '../../../core/errors.ts'
import { inexactWords } from '../../../core/values/json/exact-number.ts'
import { type Flaw, JsonScan, type ListPlace, type ScanBounds } from '../../../core/values/json/json-scan.ts'
import { jsonPointer } from '../../../core/values/json-pointer.ts'
import { Turns } from '../../../runtime/turns.ts'

/**
 * Deeper JSON serves nobody and makes whoever walks it later run out of stack. The number of values is more than
 * the largest task can have: 256 KiB of JSON for its body, 16 KiB for its metadata, two bytes each at least.
 */
export const BODY_BOUNDS = { depth: 64, values: 150_000 } as const satisfies ScanBounds

/** Looked through on end: about a millisecond of work. */
const STRETCH_BYTES = 64 * 1024
const MAX_STEPS_SHOWN = 10

/** Answers where the list lies that was to be taken apart. */
export async function scanBody(body: Uint8Array, bounds: ScanBounds): Promise<ListPlace | null> {
  const scan = new JsonScan(body, bounds)
  const turns = new Turns()
  while (!scan.step(STRETCH_BYTES)) if (turns.isOver) await turns.pass()
  if (scan.flaw === null) return scan.list
  const pointer = jsonPointer(scan.flaw.path.slice(0, MAX_STEPS_SHOWN))
  throw invalidInput([{ pointer, detail: detailOf(scan.flaw, bounds) }])
}

function detailOf({ kind, literal = '' }: Flaw, { depth, values, list }: ScanBounds): string {
  switch (kind) {
    case 'depth':
      return `is nested deeper than ${depth} levels`
    case 'values':
      return `must not contain more than ${values} values`
    case 'number':
      return inexactWords(literal)
    case 'text':
      return 'contains a NUL character or an unpaired surrogate, which cannot be stored'
    case 'name':
      return 'has a field name that cannot be stored'
    case 'items':
      return `must not contain more than ${list?.items} items`
    case 'itemBytes':
      return `must not be larger than ${list?.itemBytes} bytes`
    case 'otherBytes':
      return `must not contain more than ${list?.otherBytes} bytes besides ${list?.name}`
  }
}

/** Scans a body, yielding to other work of the process, and rejects what cannot be parsed or stored. */
import { invalidInput } from '../../../core/errors.ts'
import { inexactWords } from '../../../core/values/json/exact-number.ts'
import { type Flaw, JsonScan, type ListPlace, type ScanBounds } from '../../../core/values/json/json-scan.ts'
import { jsonPointer } from '../../../core/values/json-pointer.ts'
import { Turns } from '../../../runtime/turns.ts'

/**
 * Deeper JSON is of no use, and would overflow the stack of code that walks it. The number of values is more than the largest
 * task can have: 256 KiB of JSON for its body and 16 KiB for its metadata, with at least two bytes per value.
 */
export const BODY_BOUNDS = { depth: 64, values: 150_000 } as const satisfies ScanBounds

/** Number of bytes scanned without yielding: about a millisecond of work. */
const STRETCH_BYTES = 64 * 1024
const MAX_STEPS_SHOWN = 10

/** Scans a body, and returns the position of the list that is to be parsed item by item. */
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

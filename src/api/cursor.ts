import { Refusal } from '../core/errors.ts'

/** Where a page ended, as opaque text. */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** The position again, if it has the expected shape; a cursor that was made up is refused. */
export function decodeCursor<T extends readonly unknown[]>(
  text: string | undefined,
  isPosition: (value: unknown) => value is T,
): T | undefined {
  if (text === undefined) return undefined
  try {
    const position: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (isPosition(position)) return position
  } catch {
    // Not JSON: the refusal below says so.
  }
  const detail = 'is not a cursor; take nextCursor of the page before as it is'
  throw new Refusal('invalid_input', `The cursor ${detail}.`, { problems: [{ pointer: '?cursor', detail }] })
}

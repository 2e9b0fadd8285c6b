/** Which part of a file an upload consists of: the header Content-Range (RFC 9110, section 14.4) of requests. */

export type ContentRange =
  /** From the first byte to the last of the part; `total` is null while the length of the file is unknown. */
  | { readonly from: number; readonly to: number; readonly total: number | null }
  /** No bytes: everything should be there already. */
  | { readonly from: null; readonly total: number }

const PART = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/
const NOTHING = /^bytes \*\/(\d{1,15})$/

/** Null for what is none. */
export function parseContentRange(text: string): ContentRange | null {
  const nothing = NOTHING.exec(text)
  if (nothing) return { from: null, total: Number(nothing[1]) }
  const part = PART.exec(text)
  if (!part) return null
  const [from, to, total] = [Number(part[1]), Number(part[2]), part[3] === '*' ? null : Number(part[3])]
  return to < from || (total !== null && to >= total) ? null : { from, to, total }
}

export const CONTENT_RANGE_RULE =
  'must have the form bytes FIRST-LAST/TOTAL, such as bytes 0-262143/1000000; TOTAL may be * while it is unknown'

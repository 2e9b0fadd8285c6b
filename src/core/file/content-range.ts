/** The range of a file that an upload request contains, from the header Content-Range (RFC 9110, section 14.4). */

export type ContentRange =
  /** The first and the last byte of the part; `total` is null while the length of the file is unknown. */
  | { readonly from: number; readonly to: number; readonly total: number | null }
  /** The request contains no bytes, because the client expects that all of them are stored already. */
  | { readonly from: null; readonly total: number }

const PART = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/
const NOTHING = /^bytes \*\/(\d{1,15})$/

/** Parses the header; null if it is not valid. */
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

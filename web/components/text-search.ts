/** Finds words in a text and splits the text at the matches. */

/** The most matches to mark. With more marks, the text becomes unreadable. */
export const MOST_MARKS = 500

export interface TextPiece {
  readonly text: string
  /** Index of the match; null for text between matches. */
  readonly hit: number | null
  /** Offset in the text, which makes the part unique. */
  readonly at: number
}

export function piecesOf(text: string, words: string): TextPiece[] {
  const wanted = words.toLowerCase()
  if (wanted === '') return [{ text, hit: null, at: 0 }]
  // For some letters the lower-case form is longer and would shift all following offsets.
  const lower = text.toLowerCase()
  const haystack = lower.length === text.length ? lower : text
  const pieces: TextPiece[] = []
  let done = 0
  for (let hit = 0; hit < MOST_MARKS; hit++) {
    const at = haystack.indexOf(wanted, done)
    if (at < 0) break
    if (at > done) pieces.push({ text: text.slice(done, at), hit: null, at: done })
    pieces.push({ text: text.slice(at, at + wanted.length), hit, at })
    done = at + wanted.length
  }
  if (done < text.length) pieces.push({ text: text.slice(done), hit: null, at: done })
  return pieces
}

const TROUBLE = /\b(error|fail(ed|ure)?|fatal|exception|panic|traceback|refused|timed? ?out)\b/i

/** The first word that indicates a problem; null if there is none. */
export function firstTrouble(text: string): string | null {
  return TROUBLE.exec(text)?.[0] ?? null
}

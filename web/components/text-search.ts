/** Finding words in a text, and cutting it where they stand. */

/** The most matches to mark. With more marks, the text becomes unreadable. */
export const MOST_MARKS = 500

export interface TextPiece {
  readonly text: string
  /** The how manieth hit this is; null for what lies between. */
  readonly hit: number | null
  /** Where it begins, which makes it different from its equals. */
  readonly at: number
}

export function piecesOf(text: string, words: string): TextPiece[] {
  const wanted = words.toLowerCase()
  if (wanted === '') return [{ text, hit: null, at: 0 }]
  // Letters whose small form is longer would shift everything behind them.
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

/** The first line that sounds like trouble; null when none does. */
export function firstTrouble(text: string): string | null {
  return TROUBLE.exec(text)?.[0] ?? null
}

/** Ids may be given by their beginning: what a list shows can be typed without copying all of it. */

/** Ids made within about a minute begin alike, so fewer characters would hardly ever name one. */
export const LEAST_PREFIX = 8

const SHAPE = '01234567-0123-0123-0123-012345678901'

/** Whether this is the beginning of an id, dashes included. */
export function isIdPrefix(text: string): boolean {
  if (text.length < LEAST_PREFIX || text.length >= SHAPE.length) return false
  return [...text].every((character, place) =>
    SHAPE[place] === '-' ? character === '-' : /[0-9a-f]/i.test(character),
  )
}

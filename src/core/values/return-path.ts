/** The page to show after signing in. The path comes from a link that anyone may have written. */

const MAX_CHARACTERS = 2_000
/** One slash, followed by nothing that a browser would take for another host, as in `//host` or `/\host`. */
const LOCAL_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/

/** Returns the requested path on this server; the start page if it is not a valid local path. */
export const returnPath = (text: unknown): string =>
  typeof text === 'string' && text.length <= MAX_CHARACTERS && LOCAL_PATH.test(text) ? text : '/'

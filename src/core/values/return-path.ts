/** Where somebody goes after signing in. The address comes from a link that anybody may have written. */

const MAX_CHARACTERS = 2_000
/** One slash, then anything a browser does not take for the start of another host: `//host` and `/\host` are such. */
const LOCAL_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/

/** The path on this server that was asked for; the start page where it leads elsewhere or is no path. */
export const returnPath = (text: unknown): string =>
  typeof text === 'string' && text.length <= MAX_CHARACTERS && LOCAL_PATH.test(text) ? text : '/'

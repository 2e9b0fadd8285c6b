/**
 * The beginning of a text that somebody else wrote, as it can be kept: PostgreSQL stores neither NUL nor half of a
 * surrogate pair, and cutting can leave one behind.
 */
export const keptText = (text: string, limit: number): string => storableText(text.slice(0, limit))

/** The same of all of it. */
export const storableText = (text: string): string =>
  text.replace(LONE_SURROGATE, '\ufffd').replaceAll('\u0000', '\ufffd')

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/**
 * The beginning of a foreign text in a form that can be stored: PostgreSQL stores neither NUL nor an unpaired surrogate, which
 * cutting the text can produce.
 */
export const keptText = (text: string, limit: number): string => storableText(text.slice(0, limit))

/** Does the same without cutting the text. */
export const storableText = (text: string): string =>
  text.replace(LONE_SURROGATE, '\ufffd').replaceAll('\u0000', '\ufffd')

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/**
 * The URL that a text is, or null. `URL.canParse` of Node.js 20 cannot be asked first: once it is called often it takes the
 * bytes of Latin-1 strings for UTF-8, and says yes to what `new URL` then throws at.
 */
export function readUrl(text: string, base?: URL): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

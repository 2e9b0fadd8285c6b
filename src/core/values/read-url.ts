/**
 * Parses a URL; null if it is not valid. `URL.canParse` is not used, because in Node.js 20, after many calls, it takes the
 * bytes of Latin-1 strings for UTF-8 and accepts texts for which `new URL` then throws.
 */
export function readUrl(text: string, base?: URL): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

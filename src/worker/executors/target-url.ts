/** Which addresses an HTTP action may name: http and https, no user or password inside. */

export type TargetUrl =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string }

export function parseTargetUrl(text: string): TargetUrl {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return { ok: false, reason: 'the URL cannot be read' }
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { ok: false, reason: `the URL must start with http:// or https://, not ${url.protocol}` }
  }
  // Credentials in a URL end up in logs and histories; a header can be kept out of both.
  if (url.username !== '' || url.password !== '') {
    return { ok: false, reason: 'the URL must not contain a user name or password; use a header' }
  }
  return { ok: true, url }
}

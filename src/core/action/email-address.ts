/**
 * An email address as people write it: `ada@example.com`, or with a name, `Ada <ada@example.com>`. It is parsed before it is
 * used, and characters that could end a header or begin another address are rejected, so that one text is always one address.
 */
export interface EmailAddress {
  readonly name: string
  readonly address: string
}

export type ReadAddress =
  | { readonly ok: true; readonly value: EmailAddress }
  /** The reason, worded to follow the name of the field. */
  | { readonly ok: false; readonly reason: string }

const MAX_LOCAL = 64
const MAX_DOMAIN = 255
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be in there.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const ADDRESS = /^([^\s@<>()[\],;:\\"]+)@([^\s@<>()[\],;:\\"]+)$/
const NAMED = /^([^<>@,;:\\"]*)<([^<>]*)>$/

/** Whether a text contains control characters, which could end a header or cannot be displayed. */
export const hasControlCharacters = (text: string): boolean => CONTROL.test(text)

export function parseEmailAddress(text: string): ReadAddress {
  if (CONTROL.test(text)) return refused('must not contain line breaks or other control characters')
  const named = NAMED.exec(text.trim())
  const name = named?.[1]?.trim() ?? ''
  const address = named?.[2] ?? text.trim()
  const [, local = '', domain = ''] = ADDRESS.exec(address) ?? []
  if (local === '') return refused('must be one address such as ada@example.com or Ada <ada@example.com>')
  if (local.length > MAX_LOCAL || domain.length > MAX_DOMAIN)
    return refused('is too long for an email address')
  if (domain.startsWith('.') || domain.endsWith('.') || domain.includes('..') || domain.startsWith('-'))
    return refused(`contains the invalid host name ${domain}`)
  return { ok: true, value: { name, address } }
}

const refused = (reason: string): ReadAddress => ({ ok: false, reason })
